// A profile as one self-contained page: icicle chart, curves over time, table of phases.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "draw/chart.hpp"
#include "profile/page.hpp"
#include "profile/report.hpp"
#include "profile/words.hpp"

namespace hotloop {
namespace {

constexpr int kCellHeight = 38;  // of the icicle chart, in pixels

struct Html {
  std::string text;

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
    text += '\n';
  }
};

void add_lines(Html& html, const std::vector<NamedLine>& lines) {
  html.add("<dl>");
  for (const NamedLine& line : lines) {
    const bool bad = line.name == "warning" || line.name == "failure";
    html.add("<dt>{}</dt><dd{}>{}</dd>", escape_xml(line.name), bad ? " class=\"bad\"" : "",
             escape_xml(line.text));
  }
  html.add("</dl>");
}

void add_figures(Html& html, const Profile& p) {
  const auto add = [&](const std::string& value, std::string_view name) {
    html.add("<div><b>{}</b>{}</div>", value, name);
  };
  html.add("<div class=\"figures\">");
  add(short_number(p.steps_per_second()), "env steps per second");
  add(short_number(p.updates_per_second()), "updates per second");
  add(short_number(static_cast<double>(p.updates) / static_cast<double>(p.env_steps)),
      "updates per step");
  add(fmt::format("{:.1f} %", 100 * (1 - p.unaccounted_share)), "of the time accounted for");
  html.add("</div>");
}

struct Cell {
  std::string phase, name, group, tip;
  double from = 0, share = 0;  // of the run
  int depth = 0;
};

// Positions are percentages, so that the chart is as wide as the page. A nested SVG clips text that
// does not fit.
void add_cell(Html& html, const Cell& cell) {
  const std::string percent = fmt::format("{:.1f} %", 100 * cell.share);
  html.add(
      R"(<svg class="cell {}{}" x="{:.4f}%" y="{}" width="{:.4f}%" height="{}" tabindex="0" role="img" )"
      R"(aria-label="{}, {}" data-phase="{}" data-name="{}" data-percent="{}" data-from="{:.8f}" )"
      R"(data-share="{:.8f}" data-tip="{}"><rect width="100%" height="100%" rx="3"/>)"
      R"(<text x="8" y="24">{}</text></svg>)",
      cell.group, cell.depth == 2 ? " part" : "", 100 * cell.from, cell.depth * kCellHeight,
      100 * cell.share, kCellHeight, cell.phase, percent, cell.phase, cell.name, percent, cell.from,
      cell.share, cell.tip, cell.name);
}

std::string tip_of(const Profile& profile, const PhaseRow& row) {
  const PhaseCells cells = phase_cells(profile, row);
  std::string tip = row.name();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] != "-") tip += fmt::format("&#10;{:<10}{:>8}", kPhaseColumns[i], cells[i]);
  }
  return tip;
}

// The run above its groups, each group above its parts. The parts start at the left edge of their
// group; rounding may leave a gap at the right.
void add_icicle(Html& html, const Profile& profile) {
  html.add(R"(<svg id="icicle" height="{}" aria-label="phases by share of time">)",
           3 * kCellHeight);
  double total = 0;
  for (const PhaseRow& row : profile.phases) total += row.part.empty() ? row.share : 0;
  add_cell(html, {.phase = "run",
                  .name = "run",
                  .group = "run",
                  .tip = fmt::format("run&#10;{:.2f} s", profile.wall_seconds),
                  .share = std::max(1.0, total)});
  double group_end = 0, part_end = 0;
  for (const PhaseRow& row : profile.phases) {
    const bool whole = row.part.empty();
    if (whole) part_end = group_end;
    double& end = whole ? group_end : part_end;
    add_cell(html, {.phase = row.name(),
                    .name = whole ? row.group : row.part,
                    .group = row.group,
                    .tip = tip_of(profile, row),
                    .from = end,
                    .share = row.share,
                    .depth = whole ? 1 : 2});
    end += row.share;
  }
  html.add("</svg>");
}

template <class Get>
ChartPanel rate_panel(const Profile& profile, const std::string& name, Get&& get) {
  ChartPanel panel{.title = name, .x_label = "seconds", .from_zero = true};
  panel.series.push_back({.name = name, .points = {}});
  for (std::size_t i = 1; i < profile.samples.size(); ++i) {
    const Sample &a = profile.samples[i - 1], &b = profile.samples[i];
    panel.series[0].points.push_back({.x = (a.seconds + b.seconds) / 2, .y = get(a, b)});
  }
  return panel;
}

std::string curves(const Profile& profile) {
  const auto per_second = [](std::int64_t Sample::*what) {
    return [what](const Sample& a, const Sample& b) {
      return static_cast<double>(b.*what - a.*what) / (b.seconds - a.seconds);
    };
  };
  Chart chart;
  chart.panels.push_back(
      rate_panel(profile, "env steps per second", per_second(&Sample::env_steps)));
  if (profile.learnt) {
    chart.panels.push_back(rate_panel(profile, "updates per second", per_second(&Sample::updates)));
  }
  chart.panels.push_back(
      rate_panel(profile, "resident memory, MiB", [](const Sample&, const Sample& b) {
        return static_cast<double>(b.resident_bytes) / 0x1p20;
      }));
  if (profile.trend.longer_episodes) {
    chart.panels.push_back(
        rate_panel(profile, "steps per episode", [](const Sample& a, const Sample& b) {
          return static_cast<double>(b.env_steps - a.env_steps) /
                 static_cast<double>(b.episodes - a.episodes);  // not drawn if none ended
        }));
  }
  chart.columns = chart.panels.size() == 4 ? 2 : 3;
  return draw_chart(chart);
}

void add_table(Html& html, const Profile& profile) {
  html.add("<div class=\"scroll\"><table>\n<tr><th>phase</th><th>{}</th></tr>",
           fmt::join(kPhaseColumns, "</th><th>"));
  for (const PhaseRow& row : profile.phases) {
    const bool whole = row.part.empty();
    html.add(R"(<tr class="{} {}" data-phase="{}"><td>{}{}</td>)", row.group,
             whole ? "whole" : "part", row.name(), whole ? "<i></i>" : "",
             whole ? row.group : row.part);
    const PhaseCells cells = phase_cells(profile, row);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (kPhaseColumns[i] == "share") {
        html.add(R"(<td class="share" style="--length:{:.1f}%">{}</td>)",
                 std::clamp(100 * row.share, 0.0, 100.0), cells[i]);
      } else {
        html.add("<td>{}</td>", cells[i]);
      }
    }
    html.add("</tr>");
  }
  html.add("</table></div>");
}

}  // namespace

std::string profile_html(const Profile& profile) {
  const std::string title = escape_xml(profile_title(profile));
  Html html;
  html.add(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{}</title>
<style>{}</style>
</head>
<body>
<h1>{}</h1>)",
           title, kPageStyle, title);
  add_lines(html, lines_above(profile));
  add_figures(html, profile);
  html.add(R"(<h2>Phases<span class="hint">width is share of wall time; click to zoom in, )"
           R"(on "run" to zoom out</span></h2>)");
  add_icicle(html, profile);
  html.add("<h2>Over time</h2>\n<figure>\n{}</figure>", curves(profile));
  add_lines(html, lines_below(profile));
  html.add(R"(<h2>Table<span class="hint">times in microseconds; p50 and p99 of one call; )"
           R"(allocs: heap allocations per env step</span></h2>)");
  add_table(html, profile);
  html.add("<div id=\"tip\"></div>\n<script>{}</script>\n</body>\n</html>", kPageScript);
  return std::move(html.text);
}

}  // namespace hotloop
