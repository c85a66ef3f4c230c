import { structuredPatch } from "diff";
import { pathToBytes } from "../values/path.ts";
import { addAll } from "../../util/long-lists.ts";

/** Largest content, in bytes, that is compared line by line. */
export const MAX_DIFF_BYTES = 4 * 1024 ** 2;

/**
 * Most added and removed lines for which the shortest diff is searched: the time of the search grows with the square
 * (about a second at 4,000). Beyond it, everything between the first and the last difference is replaced.
 */
export const MAX_EDITS = 4000;

/** git's rule: a NUL in the first bytes means binary. */
const SNIFFED_BYTES = 8000;

/** Types and modes as git writes them: a file, an executable file, a symbolic link (its content is the target). */
export type GitMode = "100644" | "100755" | "120000";

/** The two contents to compare. A missing side is a file that does not exist. */
export interface DiffInput {
  /**
   * Relative to the folder where the patch is to be applied. Names that are not UTF-8 are encoded as in
   * `WorkspacePath`.
   */
  readonly path: string;
  readonly before?: Uint8Array | undefined;
  readonly after?: Uint8Array | undefined;
  /** Unchanged lines around a change; 3 by default. */
  readonly context?: number;
  /**
   * The type of each side; a plain file by default. Sides of different types (file, link) need a patch each, as in git.
   */
  readonly beforeMode?: GitMode;
  readonly afterMode?: GitMode;
}

/**
 * A patch, or the reason why there is none. `patch` is `""` if both sides are equal; else it has git's form, for `git
 * apply` and `patch -p1`. It is text: the contents are UTF-8, and the name is quoted as git does.
 */
export type TextDiff =
  | { readonly kind: "text"; readonly patch: string }
  | { readonly kind: "binary" }
  | { readonly kind: "too-large" };

/** Some lines of a patch. Each line begins with ` `, `-`, `+` or `\`, and has no newline. */
interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly string[];
}

/** Compares two contents line by line. Deterministic: limits are sizes, not times. */
export function unifiedDiff(input: DiffInput): TextDiff {
  const sides = [input.before, input.after].map((bytes) => bytes ?? new Uint8Array());
  const isSame = Buffer.compare(sides[0] ?? NONE, sides[1] ?? NONE) === 0;
  if (isSame && input.before !== undefined && input.after !== undefined) return modesOnly(input);
  if (sides.some((bytes) => bytes.subarray(0, SNIFFED_BYTES).includes(0))) return { kind: "binary" };
  if (sides.some((bytes) => bytes.length > MAX_DIFF_BYTES)) return { kind: "too-large" };
  const [before, after] = sides.map(decodeText);
  if (before === undefined || after === undefined) return { kind: "binary" };
  if (input.before === undefined && input.after === undefined) return { kind: "text", patch: "" };
  const hunks = before === after ? [] : hunksOf(before, after, Math.max(0, input.context ?? 3));
  return { kind: "text", patch: [...headerLines(input, hunks.length > 0), ...hunks.flatMap(hunkLines), ""].join("\n") };
}

const NONE = new Uint8Array();

/** Compares equal contents of any type: only the mode can differ. */
function modesOnly(input: DiffInput): TextDiff {
  const lines = modeLines(input).length === 0 ? [] : [...headerLines(input, false), ""];
  return { kind: "text", patch: lines.join("\n") };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

function hunksOf(before: string, after: string, context: number): readonly Hunk[] {
  const options = { context, maxEditLength: MAX_EDITS };
  const found = structuredPatch("", "", before, after, undefined, undefined, options);
  return found === undefined ? [replaceMiddle(before, after, context)] : found.hunks;
}

/** Splits a text into lines that keep their newlines. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function replaceMiddle(before: string, after: string, context: number): Hunk {
  const old = splitLines(before);
  const now = splitLines(after);
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const start = Math.max(0, head - context);
  const kept = Math.min(tail, context);
  const oldEnd = old.length - tail;
  const lines = [
    ...marked(" ", old.slice(start, head)),
    ...marked("-", old.slice(head, oldEnd)),
    ...marked("+", now.slice(head, now.length - tail)),
    ...marked(" ", old.slice(oldEnd, oldEnd + kept)),
  ];
  const oldLines = oldEnd + kept - start;
  return { oldStart: start + 1, oldLines, newStart: start + 1, newLines: oldLines + now.length - old.length, lines };
}

function marked(mark: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith("\n") ? [mark + line.slice(0, -1)] : [mark + line, "\\ No newline at end of file"],
  );
}

function hunkLines(hunk: Hunk): string[] {
  // An empty range is named by the line before it.
  const oldStart = hunk.oldLines === 0 ? hunk.oldStart - 1 : hunk.oldStart;
  const newStart = hunk.newLines === 0 ? hunk.newStart - 1 : hunk.newStart;
  return [`@@ -${oldStart},${hunk.oldLines} +${newStart},${hunk.newLines} @@`, ...hunk.lines];
}

function modeLines({ before, after, beforeMode = "100644", afterMode = "100644" }: DiffInput): string[] {
  if (before === undefined) return [`new file mode ${afterMode}`];
  if (after === undefined) return [`deleted file mode ${beforeMode}`];
  return beforeMode === afterMode ? [] : [`old mode ${beforeMode}`, `new mode ${afterMode}`];
}

function headerLines(input: DiffInput, hasHunks: boolean): string[] {
  const lines = [`diff --git ${patchName(`a/${input.path}`)} ${patchName(`b/${input.path}`)}`];
  addAll(lines, modeLines(input));
  if (hasHunks) {
    lines.push(`--- ${input.before === undefined ? "/dev/null" : sideName(`a/${input.path}`)}`);
    lines.push(`+++ ${input.after === undefined ? "/dev/null" : sideName(`b/${input.path}`)}`);
  }
  return lines;
}

/**
 * Returns the patch of a file whose change no patch can carry, in git's form for binary files: `git apply` then refuses
 * the whole patch, and does not silently leave this file out. Of `before` and `after`, only the presence counts.
 */
export function patchWithoutText(input: DiffInput): string[] {
  const { before, after, beforeMode = "100644", afterMode = "100644" } = input;
  const isSame = before !== undefined && after !== undefined && beforeMode === afterMode;
  const [old, now] = [
    before === undefined ? "/dev/null" : patchName(`a/${input.path}`),
    after === undefined ? "/dev/null" : patchName(`b/${input.path}`),
  ];
  return [
    ...headerLines(input, false),
    // Without this line, git takes the file for unchanged. Its hashes are zero, because only git could compute them.
    `index 0000000..0000000${isSame ? ` ${afterMode}` : ""}`,
    `Binary files ${old} and ${now} differ`,
  ];
}

/** Returns a name for a `---` or `+++` line. A tab after a name with spaces tells `patch` where the name ends. */
function sideName(name: string): string {
  const quoted = patchName(name);
  return quoted.includes(" ") && !quoted.startsWith('"') ? `${quoted}\t` : quoted;
}

const ESCAPES: Readonly<Record<number, string>> = {
  0x07: "\\a",
  0x08: "\\b",
  0x09: "\\t",
  0x0a: "\\n",
  0x0b: "\\v",
  0x0c: "\\f",
  0x0d: "\\r",
  0x22: '\\"',
  0x5c: "\\\\",
};

/** Quotes a name as git does in patches: with escapes, unless it is printable ASCII without `"` and `\`. */
function patchName(name: string): string {
  if (/^[ !#-[\]-~]*$/.test(name)) return name;
  let quoted = "";
  for (const byte of pathToBytes(name)) {
    const isPlain = byte >= 0x20 && byte < 0x7f;
    quoted += ESCAPES[byte] ?? (isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`);
  }
  return `"${quoted}"`;
}
