"""The look of the page, light and dark, and the little JavaScript that charts need.

Nothing is loaded from elsewhere: fonts are the system's.
"""

import gradio as gr
from gradio.themes.utils import sizes

from app.charts.style import COLOURS

_FONTS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]

THEME = gr.themes.Base(
    primary_hue="blue",
    neutral_hue="slate",
    font=_FONTS,
    font_mono=["ui-monospace", "Menlo", "Consolas", "monospace"],
    radius_size=sizes.radius_md,
).set(
    # Gradio's own greys are too pale for small text (WCAG AA).
    body_text_color_subdued="*neutral_600",
    body_text_color_subdued_dark="*neutral_300",
    block_info_text_color="*neutral_600",
    block_info_text_color_dark="*neutral_300",
    block_label_text_color="*neutral_700",
    block_label_text_color_dark="*neutral_200",
    block_title_text_color="*neutral_700",
    block_title_text_color_dark="*neutral_200",
    input_placeholder_color="*neutral_500",
    input_placeholder_color_dark="*neutral_400",
    button_primary_background_fill="*primary_700",
    button_primary_background_fill_hover="*primary_800",
    button_primary_background_fill_dark="*primary_700",
    button_primary_background_fill_hover_dark="*primary_600",
    button_primary_text_color="white",
    button_primary_text_color_dark="white",
)

CSS = f"""
:root {{ --first: {COLOURS[0]}; --second: {COLOURS[1]}; --edge: #64748b; }}
gradio-app, .gradio-container, .main {{ min-width: 0 !important; max-width: 100vw; }}
.gradio-container {{ max-width: min(1280px, 100vw) !important; margin: 0 auto !important; }}
#intro h1 {{ font-size: 1.9rem; margin: 0 0 .2rem; }}
#intro p {{ font-size: 1.05rem; max-width: 46rem; margin: 0; }}
h3 {{ font-size: 1.05rem; margin: .6rem 0 .2rem; }}
h3.first, caption.first, .score.first h3 {{ border-left: .5rem solid var(--first); }}
h3.second, caption.second, .score.second h3 {{ border-left: .5rem solid var(--second); }}
h3.first, h3.second, caption.first, caption.second, .score h3 {{ padding-left: .5rem; }}
.scores, .sides {{ display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }}
.score {{ border: 1px solid var(--border-color-primary); border-radius: .5rem;
          padding: .7rem 1rem; }}
.score h3 {{ margin: 0; overflow-wrap: anywhere; }}
.score p {{ margin: .2rem 0 0; overflow-wrap: anywhere; }}
.score .cosine {{ font-size: 2.2rem; font-weight: 650; line-height: 1.2;
                  font-variant-numeric: tabular-nums; }}
.objective, .note, .quiet {{ color: var(--body-text-color-subdued); }}
.verdict {{ margin: .8rem 0 0; }}
.notice:not(:has(.alert)), #status:not(:has(.alert)), .quiet:has(p:empty) {{ display: none; }}
.alert {{ border: 1px solid #b91c1c; border-left-width: .5rem; border-radius: .4rem;
          padding: .5rem .8rem; margin: 0; }}
.alert ul {{ margin: .3rem 0 0 1.2rem; max-height: 12rem; overflow: auto; }}
button[role="tab"].selected {{ color: #1d4ed8; }}
.dark button[role="tab"].selected {{ color: #93c5fd; }}
.scroll {{ overflow-x: auto; }}
.scroll table {{ width: 100%; border-collapse: collapse; }}
.scroll caption {{ text-align: left; font-weight: 600; margin-bottom: .3rem; }}
.scroll th, .scroll td {{ text-align: left; padding: .3rem .5rem; vertical-align: top;
                          border-bottom: 1px solid var(--border-color-primary); }}
.scroll td {{ font-variant-numeric: tabular-nums; }}
.higher, .lower, .same {{ white-space: nowrap; }}
.spoken {{ position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }}
/* Charts are transparent; their text and lines follow the theme. */
.js-plotly-plot .main-svg text {{ fill: var(--body-text-color) !important; }}
.js-plotly-plot .hoverlayer text {{ fill: #fff !important; }}
.js-plotly-plot .gridlayer path, .js-plotly-plot .zerolinelayer path {{
    stroke: var(--border-color-primary) !important; }}
.js-plotly-plot .modebar {{ display: none !important; }}
.chart-tools {{ display: flex; gap: .4rem; justify-content: flex-end; }}
.chart-tools button {{ font-size: .8rem; padding: .15rem .6rem; border-radius: .3rem;
    border: 1px solid var(--edge); background: transparent; color: var(--body-text-color); }}
:focus-visible {{ outline: 3px solid var(--second) !important; outline-offset: 2px; }}
@media (max-width: 640px) {{
    .scores, .sides {{ grid-template-columns: 1fr; }}
    .gradio-container .main {{ padding: .5rem !important; }}
}}
@media (prefers-reduced-motion: reduce) {{
    * {{ animation: none !important; transition: none !important; }}
}}
"""

# Names each chart for those who cannot see it, and lets it be saved. Plotly is Gradio's own.
_CHARTS = """
(() => {
    const told = (chart) => chart.layout?.meta ?? {};
    const describe = (chart) => {
        chart.setAttribute('role', 'img');
        chart.setAttribute('aria-label', told(chart).alt ?? 'A chart');
    };
    const save = (chart, format) => window.Plotly.downloadImage(chart, {
        format, filename: told(chart).name ?? 'chart', scale: format === 'png' ? 2 : 1,
        width: chart.clientWidth, height: chart.clientHeight,
    });
    const equip = (chart) => {
        if (!chart.on || !chart.layout) return;
        if (!chart.dataset.equipped) {
            chart.dataset.equipped = 'yes';
            chart.on('plotly_afterplot', () => describe(chart));
            // A chart that is drawn while its place has no width yet would stay as narrow.
            new ResizeObserver(() => {
                if (chart.offsetParent) window.Plotly.Plots.resize(chart);
            }).observe(chart.parentElement);
        }
        describe(chart);
        if (chart.nextElementSibling?.className === 'chart-tools') return;
        const tools = document.createElement('div');
        tools.className = 'chart-tools';
        for (const format of ['png', 'svg']) {
            const button = document.createElement('button');
            button.type = 'button';
            button.textContent = format.toUpperCase();
            button.setAttribute('aria-label', `Save this chart as ${format.toUpperCase()}`);
            button.addEventListener('click', () => save(chart, format));
            tools.append(button);
        }
        chart.after(tools);
    };
    // Gradio's place for a chart that is not drawn yet has a name but no role.
    const nameEmpty = (place) => {
        place.setAttribute('role', 'img');
        place.setAttribute('aria-label', 'A chart that is not drawn yet');
    };
    let waiting = false;
    const look = () => {
        waiting = false;
        document.querySelectorAll('.js-plotly-plot').forEach(equip);
        document.querySelectorAll('.empty[aria-label]:not([role])').forEach(nameEmpty);
    };
    const later = () => {
        if (!waiting) { waiting = true; window.setTimeout(look, 100); }
    };
    new MutationObserver(later).observe(document.documentElement, {childList: true, subtree: true});
})();
"""
HEAD = f"<script>{_CHARTS}</script>"
