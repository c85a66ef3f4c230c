const WHOLE = new Intl.NumberFormat("en");

export function digits(value: number): string {
  return WHOLE.format(value);
}

/** Returns `1 file`, `2 files`. */
export function counted(value: number, one: string, several = `${one}s`): string {
  return `${digits(value)} ${value === 1 ? one : several}`;
}

/** Returns a size in bytes as `3.2 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  let value = bytes / 1_000;
  for (const unit of ["KB", "MB", "GB"]) {
    // 999.6 KB would be rounded to 1000 KB.
    if (value < 999.5) return `${rounded(value)} ${unit}`;
    value /= 1_000;
  }
  return `${rounded(value)} TB`;
}

function rounded(value: number): string {
  return value.toFixed(value < 9.95 ? 1 : 0);
}

/**
 * Matches characters that could change how the text around them is shown: controls, marks of writing direction, lone
 * surrogates.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Returns a name with its invisible characters shown as `\u202e`, so that no name looks like another. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (one) => {
    const hex = (one.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
  });
}

/** Returns a line of text with its invisible characters, except tabs, shown as escapes. */
export function visibleLine(text: string): string {
  return text.split("\t").map(visible).join("\t");
}
