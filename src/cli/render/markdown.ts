import type { ActionShape } from "../../api/action-shapes.ts";
import type { ChangeShape } from "../../api/shapes.ts";
import { printable, printableText } from "../../process/printable.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";
import { lineCountText, nameOfChange } from "./changes.ts";
import { withRenamePatches } from "../../api/renamed-changes.ts";
import { countedLines } from "./patch.ts";
import { counted } from "./words.ts";

/** Changes for a text of Markdown, such as the description of a pull request. */
export interface MarkdownChanges {
  /** The selected work, or the two compared moments. */
  readonly what: string;
  readonly actions: readonly Pick<ActionShape, "actor" | "session" | "turn">[];
  /** The changes, which must have been requested with their patches. */
  readonly changes: readonly ChangeShape[];
  /** Paths that may be the work of others. */
  readonly ambiguous: readonly string[];
  readonly notes: readonly string[];
}

/**
 * The maximum length of the text, in characters. Patches beyond it are left out, because forges such as GitHub cut or
 * refuse longer comments.
 */
const MOST_CHARACTERS = 60_000;

/**
 * Returns the lines of a text in GitHub's Markdown: who did the work, the changed paths with the numbers of added and
 * removed lines, and each patch in a block that opens on a click. Text that others wrote, such as names and paths,
 * stands in code spans. GitHub then neither formats this text nor makes links or mentions of it.
 */
export function markdownLines({ what, actions, changes: all, ambiguous, notes }: MarkdownChanges): string[] {
  const changes = withRenamePatches(all);
  const files = counted(new Set(changes.map(({ path }) => path)).size, "changed path");
  const lines = [`### ${code(what)}: ${files}${totalOf(changes)}`, ...authorLines(actions), ...fileLines(changes)];
  if (ambiguous.length > 0)
    lines.push("", `${counted(ambiguous.length, "path")} may be the work of others: ${ambiguous.map(code).join(", ")}`);
  for (const note of notes) lines.push("", `Note: ${code(note)}`);
  return [...lines, ...patchBlocks(changes, MOST_CHARACTERS - lengthOf(lines))];
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0);
}

function totalOf(changes: readonly ChangeShape[]): string {
  const counts = changes.map(countedLines).filter((one) => typeof one !== "string");
  if (counts.length === 0) return "";
  const [added, removed] = [counts.map((one) => one.added), counts.map((one) => one.removed)].map(sum);
  return `, ${lineCountText({ added: added ?? 0, removed: removed ?? 0 })}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/**
 * Returns a table of who did the work. It has one row for each combination of actor, session and turn, with the number
 * of actions.
 */
function authorLines(actions: MarkdownChanges["actions"]): string[] {
  if (actions.length === 0) return [];
  const rows = new Map<string, number>();
  for (const { actor, session, turn } of actions) {
    const row = `| ${cell(actor)} | ${cell(session)} | ${cell(turn)} |`;
    rows.set(row, (rows.get(row) ?? 0) + 1);
  }
  const body = [...rows].map(([row, count]) => `${row} ${groupedDigits(count)} |`);
  return ["", "| by | session | turn | actions |", "|---|---|---|---:|", ...body];
}

function fileLines(changes: readonly ChangeShape[]): string[] {
  if (changes.length === 0) return [];
  const rows = changes.map((change) => {
    const counts = countedLines(change);
    const type = change.from === undefined ? change.change_type.replace("_", " ") : "renamed";
    return `| ${cell(nameOf(change))} | ${type} | ${typeof counts === "string" ? counts : lineCountText(counts)} |`;
  });
  return ["", "| path | | lines |", "|---|---|---:|", ...rows];
}

function nameOf(change: ChangeShape): string {
  return nameOfChange(change, (path) => path);
}

function patchBlocks(changes: readonly ChangeShape[], room: number): string[] {
  let left = room;
  const blocks = changes.map(patchBlock).filter((block) => block.length > 0);
  const fitting = blocks.filter((block) => (left -= lengthOf(block)) >= 0);
  const omitted = blocks.length - fitting.length;
  const rest = `${counted(omitted, "patch", "patches")} left out, because the text would be too long for a comment.`;
  return [...fitting.flat(), ...(omitted === 0 ? [] : ["", rest])];
}

function patchBlock(change: ChangeShape): string[] {
  const { patch } = change;
  if (patch === undefined || patch === "") return [];
  const counts = countedLines(change);
  const lines = typeof counts === "string" ? "" : ` ${lineCountText(counts)}`;
  const text = printableText(patch).replace(/\n$/, "");
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
  const summary = `<details><summary><code>${html(nameOf(change))}</code>${lines}</summary>`;
  return ["", summary, "", `${fence}diff`, ...text.split("\n"), fence, "", "</details>"];
}

/** Returns the length of the longest sequence of backticks in a text. */
function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/**
 * Returns a text as a code span. The span's delimiters have one backtick more than the longest sequence of backticks in
 * the text.
 */
function code(foreign: string): string {
  const text = printable(foreign);
  const ticks = "`".repeat(longestRun(text) + 1);
  const space = text === "" || /^[` ]|[` ]$/.test(text) ? " " : "";
  return `${ticks}${space}${text}${space}${ticks}`;
}

/**
 * Returns a text as a code span in a table. Each `|` is escaped with a backslash, because `|` would end the cell.
 *
 * A text that has a backslash before `|` cannot be escaped in this way: the text's own backslash would escape the added
 * backslash, and the bar would end the cell. Such a text is written in HTML, with entities for all signs that Markdown
 * or HTML could interpret.
 */
function cell(foreign: string | null): string {
  if (foreign === null) return "";
  const text = printable(foreign);
  if (!text.includes("\\|")) return code(foreign).replaceAll("|", "\\|");
  return `<code>${text.replaceAll(/[!-,:-@[-`{-~]/g, (sign) => `&#${sign.codePointAt(0)};`)}</code>`;
}

function html(foreign: string): string {
  return printable(foreign).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
