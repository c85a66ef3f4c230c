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
  let value = bytes;
  for (const unit of ["KB", "MB", "GB"]) {
    value /= 1_000;
    if (value < 1_000) return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
  }
  return `${(value / 1_000).toFixed(1)} TB`;
}

/** Characters that would change how the text around them is shown: controls, and marks of writing direction. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Returns a name with its invisible characters shown as `\u202e`, so that no name looks like another. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
