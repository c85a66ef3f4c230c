import { stripVTControlCharacters } from "node:util";

/** The alignment of a column: `<` to the left, or `>` to the right (for numbers). */
export type Alignment = "<" | ">";

function width(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}

function padded(text: string, to: number, align: Alignment): string {
  const gap = " ".repeat(Math.max(0, to - width(text)));
  return align === ">" ? gap + text : text + gap;
}

/**
 * Returns one line for each row, with its cells in columns that are two spaces apart. `align` has one character for
 * each column (default `<`).
 */
export function columns(rows: readonly (readonly string[])[], align = ""): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, width(cell));
  }
  return rows.map((row) =>
    row
      .map((cell, at) => padded(cell, widths[at] ?? 0, align[at] === ">" ? ">" : "<"))
      .join("  ")
      .trimEnd(),
  );
}
