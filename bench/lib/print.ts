import type { Bench } from "./bench.ts";
import type { Machine } from "./machine.ts";
import type { CorpusName } from "./options.ts";
import { isKept, median, type Ratio, type Result } from "./result.ts";

/** The report of one run, as `--json` prints it. */
export interface Report {
  readonly machine: Machine;
  readonly corpus: string;
  readonly rounds: number;
  /** True: a quick look, which measures less. The notes of each bench say what. */
  readonly isQuick: boolean;
  /** The benches that a quick look leaves out. */
  readonly leftOut: readonly string[];
  /** The place of the trees and stores, in words. */
  readonly disk: string;
  readonly benches: readonly {
    readonly name: string;
    readonly promise: string;
    readonly corpus: CorpusName;
    readonly result: Result;
  }[];
}

/** Returns some lines about the machine, the other tools, and the options of the run. */
export function machineLine(report: Omit<Report, "benches">): string {
  const { machine } = report;
  const left = report.leftOut.length === 0 ? "" : `; left out, unless they are named: ${report.leftOut.join(", ")}`;
  const quick = report.isQuick ? [`a quick look: the notes of a table say what was measured less of${left}`] : [];
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}`,
    `${machine.git ?? "no git"}; ${machine.restic ?? "no restic"}`,
    `corpus ${report.corpus}, ${report.rounds} rounds in turn, medians (least to most); disk: ${report.disk}`,
    ...quick,
  ].join("\n");
}

/** Returns the result of a bench as a Markdown table with a heading and notes. */
export function resultTable(bench: Bench, corpus: CorpusName, result: Result): string {
  const rows = result.rows.map((row) => `| ${row.what} | ${spread(row.samples, row.unit)} | |`);
  const ratios = result.ratios.map(
    (ratio) => `| **${ratio.what}** | ${spread(ratio.samples, ratio.unit ?? "×")} | ${verdict(ratio)} |`,
  );
  const notes = result.notes.map((note) => `\n${note[0]?.toUpperCase()}${note.slice(1)}.`);
  return [
    `### ${bench.name}, corpus ${corpus}: ${bench.promise}\n`,
    "| | median | promised |",
    "|---|---|---|",
    ...rows,
    ...ratios,
    ...notes,
    "",
  ].join("\n");
}

function spread(samples: readonly number[], unit: string): string {
  const show = (value: number) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
  const range = samples.length > 1 ? ` (${show(Math.min(...samples))}–${show(Math.max(...samples))})` : "";
  return `${show(median(samples))} ${unit}${range}`;
}

function verdict(ratio: Ratio): string {
  if (ratio.target === undefined) return "";
  const bound = `${ratio.target.kind === "at-least" ? "≥" : "≤"} ${ratio.target.value}`;
  return `${bound}: ${isKept(ratio) ? "kept" : "**missed**"}`;
}
