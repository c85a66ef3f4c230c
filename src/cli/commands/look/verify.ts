import { EXIT } from "../../../api/problems.ts";
import type { RepairShape, VerifyShape } from "../../../api/shapes.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import type { CommandContext } from "../../support/context.ts";
import { repairPlaces } from "../../support/repair-places.ts";
import { readUserFile } from "../../../process/read-json-list.ts";
import { columns } from "../../render/columns.ts";
import { counted } from "../../render/counted.ts";
import { printable } from "../../../process/printable.ts";
import { optional } from "../../../util/optional.ts";

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
  const rate =
    result.seconds >= 1 ? `, ${Math.round(result.events / result.seconds).toLocaleString("en-US")} events/s` : "";
  const size = `${counted(result.events, "event")}, ${counted(result.blobs, "blob")}, ${formatBytes(result.bytes)}`;
  const verdict = result.ok ? paint("green", "ok") : paint("red", wrong(result.problems));
  context.print(`${verdict}: ${size} in ${result.seconds.toFixed(2)} s${rate}`);
  for (const line of anchorLines(result)) context.print(line);
}

/** Prints the healed contents and the missing ones, each with the places that need it. */
function printRepair(context: CommandContext, { healed, missing, set_aside: aside, failed }: RepairShape): void {
  const { paint } = context;
  for (const { hash, needed_by: needs, from } of healed)
    printContent(context, `${paint("green", "healed")}  ${hash}  from ${printable(from)}`, needs);
  for (const { hash, needed_by: needs } of missing)
    printContent(context, `${paint("red", "not found")}  ${hash}`, needs);
  for (const { place, reason } of failed)
    context.print(paint("red", `could not be asked to the end: ${printable(place)}: ${printable(reason)}`));
  for (const file of aside) context.print(`put aside until the next gc: ${printable(file)}`);
  const [good, bad] = [counted(healed.length, "content"), counted(missing.length, "content")];
  context.print(`${good} healed, ${missing.length === 0 ? "none missing" : `${bad} still missing or damaged`}`);
}

function printContent(context: CommandContext, line: string, needs: readonly string[]): void {
  context.print(line);
  for (const place of needs) context.print(`    needed by ${printable(place)}`);
  if (needs.length === 0) context.print("    needed by nothing of this workspace");
}

/** Problems that concern the proof, not the recorded data. */
const UNPROVED: readonly string[] = [
  "head-missing",
  "head-unheld",
  "key-missing",
  "key-other",
  "key-invalid",
  "signer-missing",
  "signer-unproved",
  // About the given head: a wrong file was named.
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

/** Says which heads the log was checked against. For a damaged log the words do not suggest that this made it good. */
function anchorLines({ ok, anchored_to: anchor, expected, problems }: VerifyShape): string[] {
  const lines: string[] = [];
  if (ok && anchor !== null) lines.push(`held to the signed head at seq ${anchor}`);
  else if (ok) lines.push("no signed head was found to hold the log to");
  if (expected === null) return lines;
  const head = `the head you gave (seq ${expected.seq})`;
  const signature = SIGNATURE[expected.signature];
  const isOthers = problems.some(({ kind }) => kind === "wrong-workspace");
  if (isOthers) lines.push(`not held to ${head}: it is another workspace's`);
  else if (!expected.ok) lines.push(`not held to ${head}: ${signature}`);
  else lines.push(ok ? `held to ${head}: ${signature}` : `${head} is in the log: ${signature}`);
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
