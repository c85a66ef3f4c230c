import type { RecorderShape, RecordingShape } from "../../api/shapes.ts";
import { localMinute } from "../../process/local-zone.ts";
import { type Paint, printable, shortened, shownCommand } from "../../process/printable.ts";

interface RecordingStyle {
  readonly paint: Paint;
  /** The present time, in epoch milliseconds. */
  readonly now: number;
  /** Adds the command's global options to the commands in a text. */
  readonly worded: (text: string) => string;
  /** True if the workspace is on a server (`--remote`), where this user cannot start a watch. */
  readonly isRemote: boolean;
}

/** The maximum number of characters that the line shows of a run's command. */
const MOST_COMMAND = 40;
/** The maximum number of recorders that the line names. */
const MOST_NAMED = 3;

/** Returns the line that says whether changes are recorded at present, and by whom. */
export function recordingLine(shape: RecordingShape, style: RecordingStyle): string {
  const { state, by, reason, hint } = shape;
  const { paint, worded } = style;
  const working = by.filter(({ trouble }) => trouble === undefined);
  if (state === "everything") {
    const full = working.filter(({ kind }) => kind !== "agent");
    return `${paint("green", "recording:")} ${named(full, style)}`;
  }
  if (state === "tool_calls") {
    const own = style.isRemote ? "other edits" : "your own edits";
    return `${paint("yellow", "recording:")} ${named(working, style)}; ${own} only with the next command`;
  }
  const none = paint("red", "NOT RECORDING");
  if (reason !== null) return worded(`${none}: ${printable([reason, ...(hint === null ? [] : [hint])].join("; "))}`);
  if (style.isRemote) return `${none} between requests: a \`chronicle serve\` without --idle records everything`;
  return worded(`${none} between commands: \`chronicle watch\`, or \`chronicle watch --install .\``);
}

/**
 * Returns a note for a watch that begins although other recorders already record every change of the folder. Returns
 * `undefined` if there are no such recorders. `by`: the recorders before this watch began.
 */
export function besideNote({ by }: RecordingShape, now: number): string | undefined {
  const full = by.filter(({ kind, trouble }) => kind !== "agent" && trouble === undefined);
  if (full.length === 0) return undefined;
  const texts = full.map((one) => recorderText(one, { now })).join(", ");
  const whose = full.some(({ kind }) => kind === "watch") ? ", in the session of the earlier watch" : "";
  return `this folder is recorded already: ${texts}; each change is recorded once${whose}`;
}

function named(by: readonly RecorderShape[], style: RecordingStyle): string {
  const texts = [...new Set(by.map((one) => recorderText(one, style)))];
  const more = texts.length - MOST_NAMED;
  return more > 0 ? `${texts.slice(0, MOST_NAMED).join(", ")} and ${more} more` : texts.join(", ");
}

function recorderText(
  { kind, actor, since, pid, command = [] }: RecorderShape,
  { now }: Pick<RecordingStyle, "now">,
): string {
  const from = since === null ? "" : ` since ${localMinute(since, now)}`;
  const process = pid === null ? "" : ` (pid ${pid})`;
  switch (kind) {
    case "watch":
      return `watch${from}${process}`;
    case "run":
      return `run ${shortened(shownCommand(command), MOST_COMMAND)}${from}${process}`;
    case "server":
      return `chronicle serve${from}${process}`;
    case "sync":
      return `the folder's sync${from}${process}`;
    case "agent":
      return `${printable(actor ?? "an agent")}'s tool calls${from}`;
    case "writes":
      return "every write, as it is made";
  }
}
