import { widthOf } from "../../process/printable.ts";

/**
 * A terminal with fewer columns counts as narrow. On a narrow terminal, lists leave out less important columns and
 * shorten words.
 */
const NARROW = 100;

/** The maximum width of an actor's name on a narrow terminal. */
export const LONGEST_NARROW_NAME = 12;

/** True if the output is a terminal with fewer than `NARROW` columns. */
export function isNarrow({ isTerminal, columns }: { readonly isTerminal: boolean; readonly columns: number }): boolean {
  return isTerminal && columns < NARROW;
}

/** The alignment of a column: `<` to the left, or `>` to the right (for numbers). */
export type Alignment = "<" | ">";

function padded(text: string, to: number, align: Alignment): string {
  const gap = " ".repeat(Math.max(0, to - widthOf(text)));
  return align === ">" ? gap + text : text + gap;
}

/**
 * Returns one line for each row, with its cells in columns that are two spaces apart. `align` has one character for
 * each column (default `<`).
 */
export function columns(rows: readonly (readonly string[])[], align = ""): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, widthOf(cell));
  }
  return rows.map((row) =>
    row
      .map((cell, at) => padded(cell, widths[at] ?? 0, align[at] === ">" ? ">" : "<"))
      .join("  ")
      .trimEnd(),
  );
}
