import type { ChangeShape, CoverageShape, LineCountShape, SkippedShape } from "../../api/shapes.ts";
import { withoutRenamedFrom } from "../../api/renamed-changes.ts";
import { isMeant } from "../../core/records/coverage.ts";
import { formatBytes } from "../../core/values/duration.ts";
import { type Format, type Paint, printable, widthOf } from "../../process/printable.ts";
import { columns } from "./columns.ts";
import { counted } from "./words.ts";
import type { WithGlobalOptions } from "../table/with-global-options.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";

export interface ChangesStyle {
  readonly paint: Paint;
  /** Returns the path as the user would type it, with control characters escaped. */
  readonly shown: (path: string) => string;
  /**
   * The maximum number of paths that are listed (default: all). If there are more, one further line has the number of
   * the rest. If the rest would be only one path, `changeLines` lists this path instead of the further line.
   */
  readonly most?: number;
}

type ShownType = ChangeShape["change_type"] | "renamed";

const SIGNS: Readonly<Record<ShownType, { sign: string; colour: Format; word: string }>> = {
  created: { sign: "+", colour: "green", word: "created" },
  modified: { sign: "~", colour: "yellow", word: "modified" },
  deleted: { sign: "-", colour: "red", word: "deleted" },
  renamed: { sign: "r", colour: "cyan", word: "renamed" },
  permissions_changed: { sign: "m", colour: "cyan", word: "permissions changed" },
};

export const SAME_CONTENT = "same content";

/** Returns permission bits in octal with four digits, such as `0644`; `""` for `undefined`. */
export function modeText(permissions: number | undefined): string {
  return permissions === undefined ? "" : permissions.toString(8).padStart(4, "0");
}

function signed(bytes: number): string {
  if (bytes === 0) return "same size";
  return `${bytes < 0 ? "-" : "+"}${formatBytes(Math.abs(bytes))}`;
}

/** Returns the numbers of added and removed lines as a text for people, such as `+3 −1`. */
export function lineCountText({ added, removed }: LineCountShape): string {
  return `+${groupedDigits(added)} −${groupedDigits(removed)}`;
}

function remark(change: ChangeShape): string {
  const lines = change.lines === undefined ? undefined : lineCountText(change.lines);
  if (change.from !== undefined) {
    if (change.similarity === 100) return SAME_CONTENT;
    return [`${change.similarity ?? 0} % the same`, lines].filter((part) => part !== undefined).join(", ");
  }
  if (change.change_type === "permissions_changed") {
    return `${modeText(change.before_permissions)} → ${modeText(change.after_permissions)}`;
  }
  if (change.kind === "dir") return "folder";
  if (change.kind === "symlink") return "link";
  if (change.change_type === "created") return formatBytes(change.after_size);
  return change.change_type === "deleted" ? formatBytes(change.before_size) : (lines ?? signed(change.size_delta));
}

/** Returns the numbers of changed paths, such as `2 created, 1 deleted`, or `nothing`. */
export function countsOf(changes: readonly ChangeShape[]): string {
  const shown = withoutRenamedFrom(changes);
  const parts = Object.entries(SIGNS).flatMap(([type, { word }]) => {
    const count = new Set(shown.flatMap((one) => (typeOf(one) === type ? [one.path] : []))).size;
    return count === 0 ? [] : [`${groupedDigits(count)} ${word}`];
  });
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

function typeOf({ from, change_type: type }: ChangeShape): ShownType {
  return from === undefined ? type : "renamed";
}

/** Returns the path of a change. For a renamed file, returns both paths. */
export function nameOfChange({ path, kind, from }: ChangeShape, shown: (path: string) => string): string {
  return (from === undefined ? "" : `${shown(from)} → `) + shown(path) + (kind === "dir" ? "/" : "");
}

/**
 * The maximum width of a name whose remark is aligned in a column. The remark about a longer name directly follows the
 * name.
 */
const LONGEST_ALIGNED = 60;

function isShort([name]: readonly [string, string]): boolean {
  return widthOf(name) <= LONGEST_ALIGNED;
}

export function changeLines(all: readonly ChangeShape[], style: ChangesStyle): string[] {
  const changes = withoutRenamedFrom(all);
  const most = style.most ?? changes.length;
  const shownOnes = changes.length <= most + 1 ? changes : changes.slice(0, most);
  const rows = shownOnes.map((change) => {
    const { sign, colour } = SIGNS[typeOf(change)];
    const name = nameOfChange(change, style.shown);
    return [`  ${style.paint(colour, sign)} ${name}`, style.paint("dim", remark(change))] as const;
  });
  const rest = changes.length - shownOnes.length;
  const aligned = columns(rows.filter(isShort));
  const lines = rows.map((row) => (isShort(row) ? (aligned.shift() ?? "") : row.join("  ")));
  return [...lines, ...(rest > 0 ? [`  … and ${groupedDigits(rest)} more`] : [])];
}

export function skippedLines(
  skipped: readonly SkippedShape[],
  style: ChangesStyle & { readonly sign?: string },
): string[] {
  const most = style.most ?? skipped.length;
  const lines = skipped.slice(0, most).map(({ path, reason, detail }) => {
    const why = detail === undefined ? printable(reason) : `${printable(reason)}: ${printable(detail)}`;
    return `  ${style.paint("yellow", style.sign ?? "!")} ${style.shown(path)} (${why})`;
  });
  const rest = skipped.length - lines.length;
  return [...lines, ...(rest > 0 ? [`  … and ${groupedDigits(rest)} more`] : [])];
}

/** Returns the paths that a capture should have recorded but did not. */
export function missingFrom(coverage: CoverageShape): CoverageShape["omitted"] {
  return coverage.omitted.filter((omission) => !isMeant(omission));
}

const MOST_LEFT_OUT = 5;

/**
 * Returns the first few paths that were left out on purpose, as one text; `""` if there are none. If the reason is not
 * a rule, the path is followed by the reason.
 */
export function leftOutText(coverage: CoverageShape, { shown }: Pick<ChangesStyle, "shown">): string {
  const meant = coverage.omitted.filter(isMeant);
  const names = meant.slice(0, MOST_LEFT_OUT).map(({ path, reason }) => {
    return reason === "excluded" ? shown(path) : `${shown(path)} (${printable(reason)})`;
  });
  const more = meant.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${groupedDigits(more)} more` : ""}`;
}

/**
 * Returns lines about a coverage. Each path that should have been recorded but was not has its own line, up to
 * `style.most` paths. Paths that were left out on purpose are counted, and the first few are named. A source of rules
 * that are not applied has its own line, up to `MOST_UNAPPLIED` lines.
 */
export function coverageLines(coverage: CoverageShape, style: ChangesStyle): string[] {
  const missing = missingFrom(coverage);
  const meant = coverage.omitted.length - missing.length;
  const left = meant === 0 ? "" : `; ${counted(meant, "path")} left out on purpose: ${leftOutText(coverage, style)}`;
  const rules = unappliedLines(coverage, style);
  if (coverage.complete) return [`complete${left}`, ...rules];
  const head = style.paint("yellow", `partial: ${counted(missing.length, "path")} not recorded`);
  return [`${head}${left}`, ...skippedLines(missing, style), ...rules];
}

const MOST_UNAPPLIED = 10;

function unappliedLines({ unapplied = [] }: CoverageShape, { paint }: Pick<ChangesStyle, "paint">): string[] {
  const lines = unapplied.slice(0, MOST_UNAPPLIED).map(({ source, detail }) => {
    return paint("yellow", `rules not applied: ${printable(source)}: ${printable(detail)}`);
  });
  const rest = unapplied.length - lines.length;
  return [...lines, ...(rest > 0 ? [`… and ${groupedDigits(rest)} more`] : [])];
}

const MOST_AMBIGUOUS = 5;

export function ambiguousLines(
  ambiguous: readonly string[],
  { paint, shown, worded }: ChangesStyle & { readonly worded: WithGlobalOptions },
): string[] {
  if (ambiguous.length === 0) return [];
  const names = ambiguous.slice(0, MOST_AMBIGUOUS).map(shown).join(", ");
  const rest = ambiguous.length - MOST_AMBIGUOUS;
  const more = rest > 0 ? ` and ${groupedDigits(rest)} more` : "";
  const what = `${counted(ambiguous.length, "path")} may be the work of others`;
  return [
    paint("yellow", `${what}. They belong to nobody, and no undo takes them back: ${names}${more}`),
    paint("dim", worded("chronicle undo --file PATH takes one back")),
  ];
}
