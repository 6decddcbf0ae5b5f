//! Chinese sentences about a small harbour town.

use crate::workload::draw::Draw;

pub(super) fn sentence(draw: &mut Draw) -> String {
    let (who, did) = (draw.pick(&WHO), draw.pick(&DID));
    let (thing, place) = (draw.pick(&THINGS), draw.pick(&PLACES));
    let (when, count, reason) = (draw.pick(&WHEN), draw.number(2, 90), draw.pick(&REASONS));
    match draw.number(0, 10) {
        0 => format!("{when}，{who}在{place}{did}了{count}件{thing}。"),
        1 => format!("{reason}，{who}把{place}的{thing}重新{did}了一遍。"),
        2 => format!("{place}存放的{count}件{thing}当中，现在还在使用的已经不多。"),
        3 => format!("{when}，谁也没有在{place}见到{thing}，{who}便去打听原因。"),
        4 => format!("据记载，{who}{did}过这批{thing}，{reason}。"),
        5 => format!("{place}的{thing}比{}贵得多。", draw.pick(&THINGS)),
        6 => format!("{who}说，这些{thing}至少还能再用{count}年。"),
        7 => format!("游客常常问起{place}的{thing}，其中的来历{who}最清楚。"),
        8 => format!("{when}道路封闭，{who}只好用船运走{thing}。"),
        _ => format!("如果{place}的{thing}受潮，应当马上告诉{who}。"),
    }
}

const WHO: [&str; 16] = [
    "值夜班的工人",
    "港务处",
    "年轻的工程师",
    "渡船船长",
    "修理铺的师傅",
    "老园丁",
    "镇政府",
    "博物馆",
    "小学老师",
    "第二小组",
    "外地来的医生",
    "面包店老板",
    "气象站",
    "她的弟弟",
    "新来的房东",
    "邮局",
];

const DID: [&str; 12] =
    ["清点", "修理", "搬运", "描述", "检查", "出售", "测量", "整理", "登记", "清洗", "更换", "拍摄"];

const THINGS: [&str; 18] = [
    "灯笼",
    "铜管",
    "旧地图",
    "种子箱",
    "信件",
    "座钟",
    "木箱",
    "水泵",
    "信号旗",
    "水样",
    "自行车",
    "账本",
    "窗框",
    "渔网",
    "石阶",
    "收音机",
    "毛毯",
    "备用轮胎",
];

const PLACES: [&str; 14] = [
    "旧车站后面",
    "河口附近",
    "上游山谷里",
    "运河沿岸",
    "北门旁边",
    "集市大厅下面",
    "三楼走廊",
    "灯塔脚下",
    "东侧厢房",
    "采石场边上",
    "码头仓库",
    "教堂隔壁",
    "老街尽头",
    "冷库里面",
];

const WHEN: [&str; 12] = [
    "初春时节",
    "上个星期二",
    "暴风雨过后",
    "两年以前",
    "秋收之前",
    "那天傍晚",
    "停工期间",
    "六月底",
    "第一个霜冻的早晨",
    "道路开通以后",
    "整个冬天",
    "每逢赶集的日子",
];

const REASONS: [&str; 10] = [
    "因为连日下雨",
    "没有征求任何人的意见",
    "为了节省开支",
    "为了接待夏天的客人",
    "按照规定的要求",
    "经过长时间的讨论",
    "在学校的帮助下",
    "为了腾出地方",
    "赶在检查之前",
    "不到一天的工夫",
];
