{{/* The name of the chart's objects without the release. */}}
{{- define "sloprobe.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The stem of every object's name. Cut so short that every suffix fits into the 63 letters of a Service's name. */}}
{{- define "sloprobe.fullname" -}}
{{- $name := include "sloprobe.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 42 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 42 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 42 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "sloprobe.engineName" -}}
{{ include "sloprobe.fullname" . }}-engine
{{- end }}

{{- define "sloprobe.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "sloprobe.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* What selects pods: never to change, since a Deployment's selector cannot. Takes a dict of root and component. */}}
{{- define "sloprobe.selectorLabels" -}}
app.kubernetes.io/name: {{ include "sloprobe.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "sloprobe.labels" -}}
{{ include "sloprobe.selectorLabels" . }}
app.kubernetes.io/part-of: sloprobe
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels of pods: without versions, so that a new chart alone restarts nothing. */}}
{{- define "sloprobe.podLabels" -}}
{{ include "sloprobe.selectorLabels" . }}
app.kubernetes.io/part-of: sloprobe
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sloprobe.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whether the chart's own configuration is in force: true or empty. */}}
{{- define "sloprobe.ownConfig" -}}
{{- if not (or .Values.config .Values.existingConfigMap .Values.existingSecret) }}true{{ end }}
{{- end }}

{{/* The text of sloprobe.toml. Users' text is taken as it is: it may hold braces of its own. */}}
{{- define "sloprobe.config" -}}
{{- if .Values.config }}
{{- .Values.config }}
{{- else }}
{{- .Files.Get "sloprobe.toml" | replace "sloprobe-engine:8200" (printf "%s:8200" (include "sloprobe.engineName" .)) }}
{{- end }}
{{- end }}

{{- define "sloprobe.configMapName" -}}
{{- default (include "sloprobe.fullname" .) .Values.existingConfigMap }}
{{- end }}

{{/* What all pods have in common: who they are and where they run. */}}
{{- define "sloprobe.podSpec" -}}
serviceAccountName: {{ include "sloprobe.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The image and its security context. */}}
{{- define "sloprobe.container" -}}
image: {{ include "sloprobe.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
{{- end }}
