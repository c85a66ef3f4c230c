import { EXIT } from "../../../api/problems.ts";
import type { AcceptedHeadShape, SigningShape, RepairShape, VerifyShape } from "../../../api/shapes.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { confirm } from "../../support/confirm.ts";
import type { CommandContext } from "../../support/context.ts";
import { printable } from "../../../process/printable.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import { repairPlaces } from "../../support/repair-places.ts";
import { readUserFile } from "../../../process/read-json-list.ts";
import { columns } from "../../render/columns.ts";
import { counted } from "../../render/words.ts";
import { optional } from "../../../util/optional.ts";
import { groupedDigits } from "../../../util/grouped-digits.ts";

async function expectedHead(context: CommandContext): Promise<string | undefined> {
  const file = context.input.text("expect");
  if (file === undefined) return undefined;
  return file === "-" ? context.io.readStdin() : readUserFile(file, context.io.cwd());
}

function printResult(context: CommandContext, result: VerifyShape): void {
  const { paint } = context;
  const rows = result.problems.map((problem) => [
    paint("red", problem.kind),
    printable(problem.where),
    printable(problem.detail),
  ]);
  for (const line of columns(rows)) context.print(line);
  for (const note of result.notes) context.print(paint("yellow", `note: ${printable(note)}`));
  const rate = result.seconds >= 1 ? `, ${groupedDigits(Math.round(result.events / result.seconds))} events/s` : "";
  const what = `${counted(result.events, "event")}, ${counted(result.blobs, "blob")}`;
  // The number of bytes includes contents of other workspaces, because the workspaces of a store share their contents.
  const read = context.input.flag("quick") ? "contents not read" : `${formatBytes(result.bytes)} of the store read`;
  const verdict = result.ok ? paint("green", "ok") : paint("red", wrong(result.problems));
  context.print(`${verdict}: ${what}; ${read} in ${result.seconds.toFixed(2)} s${rate}`);
  for (const line of anchorLines(result)) context.print(line);
  const hint = result.repair === undefined && result.problems.some(({ kind }) => CONTENT.has(kind));
  if (hint) context.say(context.worded(REPAIR));
}

/** The kinds of problems that can be repaired with a copy of the content. */
const CONTENT: ReadonlySet<string> = new Set(["blob-missing", "blob-corrupt", "pack-damaged"]);

const REPAIR =
  "`chronicle verify --repair-from PLACE` replaces missing and damaged contents from a folder, another store, a server " +
  "or the origin";

function printRepair(context: CommandContext, { healed, missing, set_aside: aside, failed }: RepairShape): void {
  const { paint } = context;
  for (const { hash, needed_by: needs, from } of healed)
    printContent(context, `${paint("green", "healed")}  ${hash}  from ${printable(from)}`, needs);
  for (const { hash, needed_by: needs } of missing)
    printContent(context, `${paint("red", "not found")}  ${hash}`, needs);
  for (const { place, reason } of failed)
    context.print(paint("red", `could not be searched completely: ${printable(place)}: ${printable(reason)}`));
  for (const file of aside) context.print(`put aside until the next gc: ${printable(file)}`);
  const [good, bad] = [counted(healed.length, "content"), counted(missing.length, "content")];
  context.print(`${good} healed, ${missing.length === 0 ? "none missing" : `${bad} still missing or damaged`}`);
}

function printContent(context: CommandContext, line: string, needs: readonly string[]): void {
  context.print(line);
  for (const place of needs) context.print(`    needed by ${printable(place)}`);
  if (needs.length === 0) context.print("    needed by nothing of this workspace");
}

/** The kinds of problems that concern only the proof (signed heads, keys, signers) and not the recorded data. */
const UNPROVED: readonly string[] = [
  "head-missing",
  "head-unheld",
  "key-missing",
  "key-other",
  "key-invalid",
  "signer-missing",
  "signer-unproved",
  // The head that the user has given (`--expect`) is of another workspace.
  "wrong-workspace",
];

function wrong(problems: VerifyShape["problems"]): string {
  const isUnproved = problems.every(({ kind }) => UNPROVED.includes(kind));
  return `${isUnproved ? "NOT PROVED" : "DAMAGED"}: ${counted(problems.length, "problem")}`;
}

const SIGNATURE = {
  valid: "signature valid",
  invalid: "signature invalid",
  "unknown-key": "signed by a key that is not known, not checked",
  none: "not signed",
} as const;

/**
 * Returns lines about the heads with which the log was compared. If there are problems, no line says that the whole log
 * agrees with a head.
 */
function anchorLines({ ok, anchored_to: anchor, expected, problems }: VerifyShape): string[] {
  const lines: string[] = [];
  if (ok && anchor !== null) lines.push(`compared with the signed head at seq ${anchor}`);
  else if (ok) lines.push("no signed head was found to compare the log with");
  if (expected === null) return lines;
  const head = `the head you gave (seq ${expected.seq})`;
  const signature = SIGNATURE[expected.signature];
  const isOthers = problems.some(({ kind }) => kind === "wrong-workspace");
  if (isOthers) lines.push(`not compared with ${head}: it belongs to another workspace`);
  else if (!expected.ok) lines.push(`not compared with ${head}: ${signature}`);
  else lines.push(ok ? `compared with ${head}: ${signature}` : `${head} is in the log: ${signature}`);
  return lines;
}

export async function verify(context: CommandContext): Promise<number> {
  const expect = await expectedHead(context);
  const workspace = await context.reading();
  await using opened = new AsyncDisposableStack();
  const repairFrom = await repairPlaces(context, workspace, opened);
  const result = await workspace.verify({
    quick: context.input.flag("quick"),
    ...optional({ expect }),
    ...(repairFrom.length === 0 ? {} : { repairFrom }),
    ...context.progress(),
  });
  if (context.json) context.printJson(result);
  else {
    if (result.repair !== undefined) printRepair(context, result.repair);
    printResult(context, result);
  }
  return result.ok ? EXIT.done : EXIT.damaged;
}

/**
 * Prints only the signed note of the head, because people keep the note in a file and other tools read it. With
 * `--json`, prints the whole answer. With `--accept`, accepts the history instead.
 */
export async function head(context: CommandContext): Promise<number> {
  if (context.input.flag("accept")) return accept(context);
  const workspace = await context.reading();
  const result = await workspace.head();
  if (context.json) context.printJson(result);
  else context.io.out.write(result.note.endsWith("\n") ? result.note : `${result.note}\n`);
  return EXIT.done;
}

async function agreed(context: CommandContext, { detail }: SigningShape): Promise<boolean> {
  if (context.input.flag("yes")) return true;
  if (!context.canAsk) {
    throw new ChronicleError(
      "REFUSED",
      "accepting a history that cannot be proved needs a person, and nobody can be asked here",
      {
        hint: "see what is wrong with `chronicle status` and `chronicle verify`; if you are sure: `chronicle head --accept --yes`",
      },
    );
  }
  return confirm(context, `${printable(detail ?? "")}. Continue from the present log?`);
}

async function accept(context: CommandContext): Promise<number> {
  const signing = await (await context.reading()).signing();
  const isWrong = signing.state === "unsigned" || signing.state === "read-only";
  if (isWrong && (await context.isOperator()) && !(await agreed(context, signing))) return EXIT.failed;
  const workspace = await context.workspace({});
  const result = await workspace.acceptHead();
  context.nowSigned();
  if (context.json) context.printJson(result);
  else for (const line of linesOf(result)) context.print(line);
  return EXIT.done;
}

function linesOf({ accepted, seq, log, head: old, kept_as: keptAs }: AcceptedHeadShape): string[] {
  if (!accepted) return [`nothing to accept: this history is signed, and agrees with its head (seq ${seq})`];
  const was = old === null ? "no readable head was kept" : `the head until now was of event ${old.seq}`;
  return [
    `accepted: the history continues from event ${log?.seq ?? 0}, as event ${seq} says`,
    keptAs === null ? was : `${was}; its note is kept as heads/${keptAs}`,
  ];
}
