//! PromQL as the checks need it: which series an expression selects, and what is done to each of them. Durations and
//! values keep Grafana's variables as they are written.

mod parser;
mod token;

pub use parser::COMPARISONS;

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A number, a text, or a variable that stands for one.
    Literal(String),
    Selector(Selector),
    /// `name(args)`
    Call {
        name: String,
        args: Vec<Expr>,
    },
    /// `sum by (labels) (args)`
    Aggregate {
        name: String,
        grouping: Option<Grouping>,
        args: Vec<Expr>,
    },
    Binary {
        operator: String,
        /// `bool`: a comparison that gives 0 or 1 and drops nothing.
        is_bool: bool,
        sides: Box<[Expr; 2]>,
    },
    /// `of[range:step]`
    Subquery {
        of: Box<Expr>,
        range: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// Empty if only a matcher of `__name__` says it.
    pub metric: String,
    pub matchers: Vec<Matcher>,
    /// What stands in `[]`, without it an instant.
    pub range: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher {
    pub label: String,
    pub operator: String,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouping {
    /// `without` instead of `by`.
    pub is_without: bool,
    pub labels: Vec<String>,
}

impl Expr {
    pub fn parse(text: &str) -> Result<Self, String> {
        parser::parse(text)
    }

    pub fn children(&self) -> Vec<&Self> {
        match self {
            Self::Literal(_) | Self::Selector(_) => Vec::new(),
            Self::Call { args, .. } | Self::Aggregate { args, .. } => args.iter().collect(),
            Self::Binary { sides, .. } => sides.iter().collect(),
            Self::Subquery { of, .. } => vec![of],
        }
    }

    /// This expression and everything in it, each with what it stands in, the innermost last.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self, &[&'a Self])) {
        self.walk_below(&mut Vec::new(), visit);
    }

    fn walk_below<'a>(&'a self, above: &mut Vec<&'a Self>, visit: &mut impl FnMut(&'a Self, &[&'a Self])) {
        visit(self, above);
        above.push(self);
        for child in self.children() {
            child.walk_below(above, visit);
        }
        above.pop();
    }

    pub fn selectors(&self) -> Vec<&Selector> {
        let mut found = Vec::new();
        self.walk(&mut |expr, _| {
            if let Self::Selector(selector) = expr {
                found.push(selector);
            }
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_selectors_with_their_matchers_and_ranges() {
        let text = r#"histogram_quantile(0.9, sum by (le, target) (rate(x_bucket{target=~"$target",le!="a\"b"}[$window] offset 5m)))
            or on (target) (2 * y > bool 1) # a comment
            unless avg_over_time(z[1h:5m]) == -1 or vector(0)"#;
        let expr = Expr::parse(text).unwrap();
        let names: Vec<_> = expr.selectors().iter().map(|selector| selector.metric.clone()).collect();
        assert_eq!(names, ["x_bucket", "y", "z"]);
        let first = expr.selectors()[0];
        assert_eq!(first.range.as_deref(), Some("$window"));
        let matchers: Vec<_> = first.matchers.iter().map(|m| [&*m.label, &*m.operator, &*m.value]).collect();
        assert_eq!(matchers, [["target", "=~", "$target"], ["le", "!=", "a\"b"]]);
    }

    #[test]
    fn binds_as_prometheus_does() {
        let of = |text| Expr::parse(text).unwrap();
        assert_eq!(of("a or b and c > 1 + 2 * d ^ 2"), of("a or (b and (c > (1 + (2 * (d ^ 2)))))"));
        assert_eq!(of("sum(a) by (x)"), of("sum by (x) (a)"));
        assert_eq!(of("a - b - c"), of("(a - b) - c"));
        assert_ne!(of("a - b - c"), of("a - (b - c)"));
    }

    #[test]
    fn knows_names_of_recorded_series_and_variables_for_numbers() {
        let expr = Expr::parse("topk(5, a:b:ratio1h{}) * ${factor} / $__range_s").unwrap();
        assert_eq!(expr.selectors()[0].metric, "a:b:ratio1h");
    }

    #[test]
    fn refuses_what_is_no_expression() {
        for text in ["sum(", "a{b=}", "a b", "rate(a[5m)", "a{b=\"c}", "(a[5m])[1h]", ""] {
            assert!(Expr::parse(text).is_err(), "{text}");
        }
    }
}
