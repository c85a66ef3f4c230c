import type { LeftOutPathShape, SyncEventShape, SyncShape, SyncTroubleShape } from "../../api/sync-api.ts";
import { formatBytes } from "../../core/values/duration.ts";
import { type Paint, printable } from "../../process/printable.ts";
import { columns } from "./columns.ts";
import { counted } from "./words.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";

const ARROWS: Readonly<Record<SyncShape["mode"], string>> = {
  "two-way-safe": "⇄",
  "two-way-resolved": "⇄",
  "one-way-safe": "←",
  "one-way-replica": "⇐",
};

export function syncLines(syncs: readonly SyncShape[], paint: Paint): string[] {
  const rows = syncs.map((one) => [
    paint("dim", one.id.slice(0, 8)),
    printable(one.folder),
    `${ARROWS[one.mode]} ${originOf(one)}`,
    `${stateText(one, paint)}${one.conflicts === 0 ? "" : `, ${paint("yellow", counted(one.conflicts, "conflict"))}`}`,
  ]);
  return columns(rows);
}

const TROUBLES: Readonly<Record<SyncTroubleShape["kind"], string>> = {
  "disk-full": "the disk is full",
  "no-permission": "it may not be written",
  unreachable: "the origin cannot be reached",
  "token-refused": "the token is refused",
  starting: "the origin's server is starting",
};

/** Returns two lines: the trouble of a sync, and the next step. Returns no lines if the sync has no trouble. */
export function troubleLines({ trouble }: SyncShape, worded: (text: string) => string): readonly string[] {
  if (trouble === undefined) return [];
  const { kind, message, next } = trouble;
  return [`${TROUBLES[kind]}: ${printable(message)}`, worded(printable(next))];
}

interface RefusedStyle {
  readonly paint: Paint;
  readonly shown: (path: string) => string;
  readonly worded: (text: string) => string;
  /** The maximum number of paths that are named in each group (default: all known paths). */
  readonly most?: number;
}

/**
 * Returns lines about the paths that are not synced. Such a path was refused by the origin, cannot be held by the
 * folder's disk, or has a content that was erased. Editors' own files, git's own state and secrets are not synced,
 * either.
 */
export function keptLines(sync: SyncShape, style: RefusedStyle): string[] {
  return [
    ...refusedLines(sync, style),
    ...leftOutLines(sync, style),
    ...gitLines(sync, style),
    ...secretLines(sync, style),
    ...notHeldLines(sync, style),
    ...erasedLines(sync, style),
  ];
}

const SIDES: Readonly<Record<LeftOutPathShape["side"], string>> = {
  local: "here",
  upstream: "at the origin",
  both: "on each side",
};

function leftOutLines({ left_out_paths: paths = [], left_out: count = 0 }: SyncShape, style: RefusedStyle): string[] {
  const { paint, shown, worded, most = Infinity } = style;
  if (count === 0) return [];
  const named = paths.slice(0, most);
  const more = count - named.length;
  return [
    ...named.map(({ path, side }) => paint("dim", `  - ${shown(path)}  stays ${SIDES[side]}: an editor's own file`)),
    ...(more === 0 ? [] : [paint("dim", `  … and ${groupedDigits(more)} more`)]),
    paint("dim", `    ${worded("to have such files on both sides, start the sync again with --editor-files sync")}`),
  ];
}

function gitLines(
  { git_left_out_paths: paths = [], git_left_out: count = 0 }: SyncShape,
  style: RefusedStyle,
): string[] {
  const { paint, shown, worded, most = Infinity } = style;
  if (count === 0) return [];
  const named = paths.slice(0, most);
  const more = count - named.length;
  return [
    ...named.map(({ path, side }) => paint("dim", `  - ${shown(path)}  stays ${SIDES[side]}: git's own state`)),
    ...(more === 0 ? [] : [paint("dim", `  … and ${groupedDigits(more)} more`)]),
    paint("dim", `    ${worded("git's own state is never replicated: to have the repository on both sides, use git")}`),
  ];
}

function secretLines({ secret_paths: paths = [], secrets: count = 0 }: SyncShape, style: RefusedStyle): string[] {
  const { paint, shown, worded, most = Infinity } = style;
  if (count === 0) return [];
  const named = paths.slice(0, most);
  const more = count - named.length;
  return [
    ...named.map(({ path, side }) => paint("dim", `  - ${shown(path)}  stays ${SIDES[side]}: a secret by its name`)),
    ...(more === 0 ? [] : [paint("dim", `  … and ${groupedDigits(more)} more`)]),
    paint("dim", `    ${worded("to have such files on both sides, start the sync again with --with-protected")}`),
  ];
}

function notHeldLines({ not_held_paths: paths = [], not_held: count = 0 }: SyncShape, style: RefusedStyle): string[] {
  const { paint, shown, most = Infinity } = style;
  const named = paths.slice(0, most);
  const more = count - named.length;
  return [
    ...named.map(({ path, side, why }) => paint("dim", `  - ${shown(path)}  stays ${SIDES[side]}: ${printable(why)}`)),
    ...(more <= 0 ? [] : [paint("dim", `  … and ${groupedDigits(more)} more`)]),
  ];
}

function erasedLines({ erased_paths: paths = [], erased: count = 0 }: SyncShape, style: RefusedStyle): string[] {
  const { paint, shown, worded, most = Infinity } = style;
  if (count === 0) return [];
  const named = paths.slice(0, most);
  const more = count - named.length;
  return [
    ...named.map(({ path }) => paint("dim", `  - ${shown(path)}  stays here: its content was erased`)),
    ...(more === 0 ? [] : [paint("dim", `  … and ${groupedDigits(more)} more`)]),
    paint(
      "dim",
      `    ${worded("remove it, or change it; at the origin, `chronicle unerase` lets the content in again")}`,
    ),
  ];
}

function refusedLines(sync: SyncShape, style: RefusedStyle): string[] {
  const { refused = [] } = sync;
  const { paint, shown, worded, most = Infinity } = style;
  const named = refused.slice(0, most);
  const left = named.length === 0 ? 0 : refusedCount(sync) - named.length;
  return [
    ...named.flatMap(({ path, why, hint }) => [
      `  ${paint("yellow", "!")} ${shown(path)}  stays here: ${printable(why)}`,
      paint("dim", `    ${worded(printable(hint))}`),
    ]),
    ...(left === 0 ? [] : [`  … and ${groupedDigits(left)} more`]),
  ];
}

function refusedCount(sync: SyncShape): number {
  const { kept_back: kept = 0, left_out: leftOut = 0, git_left_out: git = 0, secrets = 0 } = sync;
  const { not_held: notHeld = 0, erased = 0 } = sync;
  return kept - leftOut - git - secrets - notHeld - erased;
}

/**
 * Returns the origin's address and workspace. The workspace is shown by the name that was given at the start, or else
 * by the beginning of its id. If the workspace is not known, returns only the address.
 */
export function originOf({ upstream, workspace, asked = workspace }: SyncShape): string {
  const named = asked === workspace && UUID.test(asked) ? asked.slice(0, 8) : asked;
  return printable(named === "" ? upstream : `${upstream}#${named}`);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

export function stateText(sync: SyncShape, paint: Paint): string {
  const { state, reason, lag, pending, elsewhere } = sync;
  if (elsewhere === true) return paint("dim", "run by another process");
  const why = reason === undefined ? "" : `: ${printable(reason)}`;
  switch (state) {
    case "in-sync":
      return inSyncText(sync, paint);
    case "connecting":
      return paint("cyan", "connecting");
    case "syncing":
      return paint("cyan", [progressText(sync) ?? "syncing", ...waiting(lag, pending)].join(", "));
    case "offline":
      return paint("yellow", [`offline${why}`, ...waiting(lag, pending)].join(", "));
    case "paused":
      return paint("dim", ["paused", ...waiting(lag, pending)].join(", "));
    case "halted":
      return paint("red", `halted${why}`);
    case "stopped":
      return paint("dim", `stopped${why}`);
  }
}

/**
 * Returns the text for the state `in-sync`. If the origin refuses changes of the folder, or the token may only read,
 * the text says `up to date` and not `in sync`. In these cases, the folder has received everything from the origin, but
 * may have changes that the origin lacks.
 */
function inSyncText(sync: SyncShape, paint: Paint): string {
  const {
    read_only: isReadOnly,
    left_out: leftOut = 0,
    git_left_out: git = 0,
    secrets = 0,
    not_held: notHeld = 0,
    erased = 0,
  } = sync;
  const kept = refusedCount(sync);
  const why = isReadOnly === true ? "the token may only read" : "the origin refuses it";
  if (kept > 0)
    return paint("yellow", `up to date; ${counted(kept, "change")} ${kept === 1 ? "stays" : "stay"} here: ${why}`);
  if (isReadOnly === true) return paint("green", "up to date; the token may only read");
  const beside = [
    ...(leftOut === 0 ? [] : [counted(leftOut, "editors' file")]),
    ...(git === 0 ? [] : [counted(git, "git repository's state", "git repositories' states")]),
    ...(secrets === 0 ? [] : [counted(secrets, "secret")]),
    ...(notHeld === 0 ? [] : [`${counted(notHeld, "path")} that the folder's disk cannot hold`]),
    ...(erased === 0 ? [] : [`${counted(erased, "file")} whose content was erased`]),
  ].join(" and ");
  const where = leftOut + git + secrets;
  const stays = where === 1 ? "stays" : "stay";
  return paint(
    "green",
    beside === ""
      ? "in sync"
      : inSyncBut(beside, where > 0 ? ` that ${stays} where ${where === 1 ? "it was" : "they were"} made` : ""),
  );
}

function inSyncBut(what: string, why: string): string {
  return `in sync, except for ${what}${why}`;
}

function waiting(lag: number, pending: number): string[] {
  return [
    ...(lag === 0 ? [] : [`${counted(lag, "event")} to come`]),
    ...(pending === 0 ? [] : [`${counted(pending, "change")} to go`]),
  ];
}

const WORK = { receiving: "receiving", applying: "writing files", sending: "sending" } as const;
const BAR = 24;

function progressText({ progress }: SyncShape): string | undefined {
  if (progress === undefined) return undefined;
  const { phase, bytes } = progress;
  const { done, total } = bytes ?? progress;
  const shown = (amount: number): string => (bytes === undefined ? groupedDigits(amount) : formatBytes(amount));
  if (total <= 0) return `${WORK[phase]} ${shown(done)}`;
  const share = Math.min(1, done / total);
  const bar = "█".repeat(Math.round(share * BAR)).padEnd(BAR, "░");
  return `${WORK[phase]} ${bar} ${Math.floor(share * 100)}%  ${shown(done)} of ${shown(total)}`;
}

/** Returns the text of an event; `undefined` if people need not see the event. */
export function eventText(event: SyncEventShape, paint: Paint): string | undefined {
  switch (event.kind) {
    case "state":
      return stateText(event.sync, paint);
    case "applied":
      return event.paths === 0 ? undefined : `← ${counted(event.paths, "path")} from the origin`;
    case "pushed":
      return pushedText(event);
    case "conflict":
      return event.state === "open"
        ? `${paint("yellow", "!")} ${printable(event.path)}: changed differently on both sides`
        : `${paint("green", "✓")} ${printable(event.path)}: settled`;
    case "halted":
      return paint("red", `halted: ${printable(event.reason)}`);
    case "degraded":
      return paint("yellow", `note: ${printable(event.reason)}`);
  }
}

function pushedText({ accepted, rejected, refused = 0 }: SyncEventShape & { kind: "pushed" }): string {
  const overtaken = rejected - refused;
  return [
    `→ ${counted(accepted, "change")} to the origin`,
    ...(overtaken === 0 ? [] : [`${overtaken} overtaken, which are looked at again`]),
    ...(refused === 0 ? [] : [`${refused} refused, which stay here`]),
  ].join(", ");
}
