import { sha256 } from "../../src/core/values/hash.ts";
import { pythonText, readPythonJson } from "../../src/core/log/python-json.ts";

/** Returns a line of the original chronomemory with a correct hash. `fields`: JSON texts, in any order. */
export function signedLine(fields: Readonly<Record<string, string>>): string {
  const all = { seq: "1", ts: '"T"', op: '"upsert"', record_id: '"a"', record: "{}", prev_hash: '""', ...fields };
  const full = { recursion_depth: "0", ...all };
  const text = `{${Object.entries(full)
    .map(([key, value]) => `${JSON.stringify(key)}: ${value}`)
    .join()}}`;
  const hash = sha256(pythonText(readPythonJson(text)));
  return `${text.slice(0, -1)}, "hash": "${hash}"}`;
}

/**
 * Returns consecutive lines from the seq `first` on. The first has no predecessor, as after a compaction of the
 * original.
 */
export function chainedLines(first: number, all: readonly Readonly<Record<string, string>>[]): string[] {
  const lines: string[] = [];
  for (const [i, fields] of all.entries()) {
    const before = lines.at(-1);
    const prev = before === undefined ? "" : hashOfLine(before);
    lines.push(signedLine({ seq: `${first + i}`, prev_hash: `"${prev}"`, ...fields }));
  }
  return lines;
}

export function hashOfLine(line: string): string {
  return /"hash": "([^"]*)"\}$/.exec(line)?.[1] ?? "";
}
