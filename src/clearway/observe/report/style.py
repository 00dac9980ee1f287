"""The look of the page: quiet colours that keep apart, in light and in dark, and readable for the colour-blind."""

STYLE = """
:root{color-scheme:light dark;--paper:#fbfaf7;--card:#fff;--ink:#23262b;--soft:#6b7078;--rule:#e7e4dd;--axis:#b9b5ab;
--accent:#1f6f78;--best:#e4f1ee;--warn:#8a5a00;--warnpaper:#fdf3dc;
--q0:#4878a8;--q1:#e0a458;--q2:#6aa57c;--q3:#b5656b;--q4:#8b7bb3;--q5:#7ab0b8;--q6:#c4a77d;--q7:#9aa0a8;
--p0:#1f6f78;--p1:#c8553d;--p2:#5b5ea6;--p3:#b08900;--p4:#3f8f4f;--p5:#7d7d85}
@media(prefers-color-scheme:dark){:root{--paper:#17191c;--card:#1e2125;--ink:#e4e3df;--soft:#9a9fa7;--rule:#2d3136;
--axis:#50555c;--accent:#6cbcc4;--best:#1d3733;--warn:#f0c674;--warnpaper:#352c17;
--q0:#6c9bc9;--q1:#d9a560;--q2:#7bb78d;--q3:#c77d83;--q4:#a294c9;--q5:#83bac2;--q6:#bda27c;--q7:#858b93;
--p0:#6cbcc4;--p1:#e58469;--p2:#9a9de0;--p3:#d9b545;--p4:#7cc48a;--p5:#a5a5ad}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,"DejaVu Sans",sans-serif;-webkit-font-smoothing:antialiased}
main{max-width:1200px;margin:0 auto;padding:40px 28px 72px}
h1{font-size:27px;line-height:1.25;font-weight:650;letter-spacing:-.01em;margin:0 0 6px;overflow-wrap:anywhere}
h2{font-size:18px;font-weight:650;margin:44px 0 2px}
h3{font-size:14px;font-weight:600;margin:0 0 6px;display:flex;align-items:center;gap:8px}
p{margin:4px 0 14px;max-width:74ch}
.lead{color:var(--soft);margin-bottom:22px}
.soft,small{color:var(--soft)}
.partial{background:var(--warnpaper);color:var(--warn);padding:10px 14px;border-radius:8px;margin:0 0 20px;
font-weight:600}
.card{background:var(--card);border:1px solid var(--rule);border-radius:12px;padding:18px 20px;margin:12px 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th{font-weight:600;font-size:12px;color:var(--soft);text-align:right;padding:3px 7px;vertical-align:bottom}
th.over{text-align:center;font-weight:500}
table{font-size:13px}
td{text-align:right;padding:7px 7px;border-top:1px solid var(--rule);white-space:nowrap}
th:first-child,td:first-child,.name{text-align:left!important}
thead tr:first-child th{padding-bottom:0}
td.best{background:var(--best);border-radius:6px}
tr.group td{padding-top:14px;font-weight:600;border-top:1px solid var(--axis)}
.key{display:flex;flex-wrap:wrap;gap:6px 18px;font-size:13px;color:var(--soft);margin:2px 0 10px}
.key span{display:inline-flex;align-items:center;gap:7px}
.key i,h3 i,td i{display:inline-block;width:11px;height:11px;border-radius:3px;flex:none}
td i{margin-right:8px}
figure{margin:0}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font:11.5px system-ui,-apple-system,"Segoe UI",Roboto,Arial,"DejaVu Sans",sans-serif;fill:var(--ink)}
svg .tick{fill:var(--soft);font-size:11px}
svg .rule{stroke:var(--rule);stroke-width:1}
svg .axis{stroke:var(--axis);stroke-width:1}
svg .zero{stroke:var(--axis);stroke-width:1.2;stroke-dasharray:3 3}
svg .lane{fill:var(--rule);opacity:.42}
svg .bar{stroke:var(--card);stroke-width:.7;opacity:.9}
svg .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
svg .veil{opacity:.1;stroke:none}
svg .stick{stroke-width:5;stroke-linecap:round;opacity:.34}
svg .whisker{stroke-width:2.4;stroke-linecap:round}
svg .ceiling{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 4}
dl{display:grid;grid-template-columns:max-content 1fr;gap:6px 22px;margin:10px 0}
dt{font-weight:600}dd{margin:0;color:var(--soft);max-width:72ch}
ul{padding-left:20px;margin:6px 0;color:var(--soft)}
.gain{fill:var(--p4)}.loss{fill:var(--p1)}.even{fill:var(--p5)}
.verdict{font-weight:600}
td svg.spark{width:200px;height:22px;overflow:hidden}
@media(max-width:640px){main{padding:24px 14px}dl{display:block}dd{margin-bottom:8px}.card{padding:14px 12px}
figure{overflow-x:auto}figure svg{min-width:760px}.extra{display:none}td svg.spark{width:96px}}
@media print{.card{break-inside:avoid}}
"""


def _fills() -> str:
    rules = [f".q{i}{{fill:var(--q{i});background:var(--q{i})}}" for i in range(8)]
    rules.append(".qx{fill:var(--q7);background:var(--q7)}")
    for i in range(6):
        rules.append(f".p{i}{{fill:var(--p{i});background:var(--p{i})}}")
        rules.append(
            f"svg .line.p{i},svg .stick.p{i},svg .whisker.p{i}{{stroke:var(--p{i})}}svg .line.p{i}{{fill:none}}"
        )
    return "\n".join(rules)


def style() -> str:
    """Return the whole style sheet."""
    return STYLE + _fills()
