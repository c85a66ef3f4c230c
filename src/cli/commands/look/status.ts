import { join } from "node:path";
import { EXIT } from "../../../api/problems.ts";
import type { StatusShape } from "../../../api/shapes.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import { inactiveAgents } from "../../agents/agent-status.ts";
import { standingFolderIfThere } from "../../../process/user-path.ts";
import { placesOf } from "../../../process/places.ts";
import type { CommandContext } from "../../support/context.ts";
import { changeLines, type ChangesStyle, countsOf, coverageLines } from "../../render/changes.ts";
import { counted } from "../../render/words.ts";
import { gitPlaceLines } from "../../render/git-changes.ts";
import { printable } from "../../../process/printable.ts";
import { secretsLine } from "../../render/secrets.ts";
import { recordingLine } from "../../render/recording.ts";
import { recordingHere } from "../../watching/recording-here.ts";
import { syncNotes } from "../../syncing/sync-notes.ts";
import type { WithGlobalOptions } from "../../table/with-global-options.ts";

const MOST_LINES = 50;

function labelled(label: string, [first = "", ...rest]: readonly string[]): string[] {
  return [`${label.padEnd(10)} ${first}`, ...rest];
}

interface StatusStyle extends ChangesStyle {
  readonly worded: WithGlobalOptions;
  /**
   * The text that is shown in place of the folder if the workspace has no folder. The text begins with the name of the
   * workspace, if there is one. Empty for a workspace with a folder.
   */
  readonly noFolder: string;
}

function placeOf({ path, roots: [first] }: StatusShape, noFolder: string): string {
  return path === "" ? noFolder : printable(first === undefined ? path : rootPath(first));
}

function linesOf(status: StatusShape, style: StatusStyle): string[] {
  const { paint, worded } = style;
  const latest = status.latest_snapshot === null ? "no snapshot" : `snapshot ${status.latest_snapshot}`;
  const size = `${counted(status.entries, "path")}, ${formatBytes(status.bytes)}`;
  const more = status.roots.slice(1).map((root) => `@${root.id ?? ""}: ${printable(rootPath(root))}`);
  const { state, detail, hint } = status.signing;
  const wrong = detail === null ? [] : [worded(printable([detail, ...(hint === null ? [] : [hint])].join("; ")))];
  // If there is a detail, the first note is about signing. This note is left out, because it would repeat the detail
  // and the hint.
  const notes = detail === null ? status.notes : status.notes.slice(1);
  return [
    ...(wrong.length === 0
      ? []
      : labelled(
          state,
          wrong.map((line) => paint("red", line)),
        )),
    ...labelled("workspace", [`${placeOf(status, style.noFolder)}  ${paint("dim", status.workspace)}`]),
    ...more.flatMap((root) => labelled("", [root])),
    ...labelled("recorded", [`${size}  ${paint("dim", `seq ${status.seq}, ${latest}`)}`]),
    ...(status.changes.length === 0
      ? labelled("changes", [nothingNew(status)])
      : labelled("changes", [`not recorded yet: ${countsOf(status.changes)}`, ...changeLines(status.changes, style)])),
    ...labelled("coverage", coverageLines(status.coverage, style)),
    ...gitPlaceLines(status.git).flatMap((line, at) => labelled(at === 0 ? "git" : "", [line])),
    ...secretsLine(status.protected, style.shown).flatMap((line) => labelled("secrets", [line])),
    ...notes.flatMap((note) => labelled("note", [worded(printable(note))])),
  ];
}

/** Returns the path of a root: its folder, or the file if the root is a single file. */
function rootPath({ path, only }: StatusShape["roots"][number]): string {
  return only === undefined ? path : join(path, only);
}

/**
 * Returns a text for a status without changes. If the coverage is not complete, the text does not say that everything
 * is recorded.
 */
function nothingNew({ path, coverage, read_only: isDamaged }: StatusShape): string {
  if (isDamaged) return "unknown, because the history is damaged";
  if (path === "") return "none";
  if (!coverage.complete) return "none that can be recorded; the coverage names the rest";
  return coverage.omitted.length === 0
    ? "none: everything on disk is recorded"
    : "none: everything that the rules take is recorded";
}

async function noFolderOf(context: CommandContext, id: string): Promise<string> {
  const store = await context.store();
  const name = (await store.workspaces()).find((one) => one.id === id)?.name;
  const text = await context.noFolderText();
  return name === undefined ? text : `${printable(name)} ${text}`;
}

/**
 * Adds notes about agents that have hooks of Chronicle but may work without being recorded. With `--remote`, adds no
 * notes, because the agents run on this machine, and not on the machine of the server.
 */
function withAgents({ io, input, remote }: CommandContext, status: StatusShape): StatusShape {
  if (remote !== undefined) return status;
  const places = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  const standing = standingFolderIfThere(io);
  const named = status.path === "" ? [] : [status.path];
  const folders = [...new Set(standing === undefined ? named : [...named, standing])];
  return { ...status, notes: [...status.notes, ...inactiveAgents(io, places, folders)] };
}

export async function status(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const own = withAgents(context, await workspace.status(context.progress()));
  const recording = await recordingHere(context, workspace, own.recording);
  const result = { ...own, recording, notes: [...own.notes, ...(await syncNotes(context, own.workspace))] };
  if (context.json) context.printJson(result);
  else {
    const paths = context.paths(workspace);
    const { paint, worded, io, remote } = context;
    context.print(recordingLine(recording, { paint, worded, now: io.now(), isRemote: remote !== undefined }));
    const noFolder = result.path === "" ? await noFolderOf(context, result.workspace) : "";
    const style = {
      paint: context.paint,
      shown: (path: string) => paths.shown(path),
      most: MOST_LINES,
      worded: context.worded,
      noFolder,
    };
    for (const line of linesOf(result, style)) context.print(line);
  }
  return EXIT.done;
}
