import type { EraseOptions } from "../../../api/action-api.ts";
import type { ErasedContentShape, EraseShape, ErasureShape } from "../../../api/action-shapes.ts";
import { EXIT } from "../../../api/problems.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { isHash } from "../../../core/values/hash.ts";
import { confirm } from "../../support/confirm.ts";
import type { CommandContext } from "../../support/context.ts";
import { columns } from "../../render/columns.ts";
import { counted, minuteOf } from "../../render/words.ts";
import { printable } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";
import { optional } from "../../../util/optional.ts";

const MOST_SHOWN = 20;
const MOST_PATHS = 3;

async function optionsOf(context: CommandContext, workspace: WorkspaceApi): Promise<EraseOptions> {
  const [typed] = context.input.args;
  const match = context.input.text("match");
  const reason = context.input.text("reason");
  if ((typed === undefined) === (match === undefined))
    throw usageError(
      "say what is to be erased: a path, the hash of a content, or a pattern",
      "chronicle erase .env, or chronicle erase --match '*.pem'",
    );
  const what = typed === undefined || isHash(typed) ? typed : await context.paths(workspace).toWorkspace(typed);
  return {
    ...optional({ what, match, reason }),
  };
}

/**
 * Throws `REFUSED` unless a person can be asked at a terminal. No option replaces the question, because a program could
 * pass the option.
 */
function refuseWithoutPerson(context: CommandContext): void {
  if (context.canAsk) return;
  throw new ChronicleError("REFUSED", "only a person at a terminal can erase contents at once", {
    hint: "leave out --now: the contents are then kept for 24 hours, and a later `chronicle gc` frees them",
  });
}

async function agreed(context: CommandContext, workspace: WorkspaceApi, options: EraseOptions): Promise<boolean> {
  const now = context.input.flag("now");
  if (now) refuseWithoutPerson(context);
  else if (context.input.flag("yes")) return true;
  if (!context.canAsk) {
    throw new ChronicleError("REFUSED", "erasing needs a confirmation, and nobody can be asked here", {
      hint: "--dry-run shows what would be erased; if you are sure, add --yes",
    });
  }
  const seen = await workspace.erase({ ...options, dryRun: true });
  const all = seen.total + seen.kept_aside.length;
  if (all === 0) return true;
  for (const line of told(context, seen)) context.say(line);
  const how = now ? "for good, at once" : "They can be brought back for 24 hours.";
  return confirm(context, `Erase ${counted(all, "content")}${now ? ` ${how}` : ""}?${now ? "" : ` ${how}`}`);
}

function rowsOf(contents: readonly ErasedContentShape[]): string[] {
  const rows = contents.slice(0, MOST_SHOWN).map(({ hash, bytes, paths, total_paths: all }) => {
    const shown = paths.slice(0, MOST_PATHS).map(printable).join(", ");
    return [
      `  ${hash.slice(0, 12)}`,
      formatBytes(bytes),
      all > MOST_PATHS ? `${shown} and ${all - MOST_PATHS} more` : shown,
    ];
  });
  return columns(rows, "<><");
}

function more(total: number): string[] {
  return total > MOST_SHOWN ? [`  and ${total - MOST_SHOWN} more`] : [];
}

function told({ paint }: CommandContext, shape: EraseShape): string[] {
  const { total, bytes, contents, kept, total_kept: stay, kept_aside: aside, untracked, elsewhere } = shape;
  const again = shape.already === 0 ? "" : ` (${shape.already} were erased before)`;
  const verb = shape.dry_run ? "would erase" : "erased";
  const first =
    total === 0 && aside.length > 0
      ? `no recorded file has such a content${again}`
      : total === 0
        ? `nothing to erase${again}`
        : `${verb} ${counted(total, "content")} of ${formatBytes(bytes)}${again}`;
  return [
    first,
    ...rowsOf(contents),
    ...more(total),
    ...aside
      .slice(0, MOST_SHOWN)
      .map(
        ({ path, bytes: size }) =>
          `a copy that was kept aside ${shape.dry_run ? "would be" : "was"} erased as well: ${printable(path)} (${formatBytes(size)})`,
      ),
    ...more(aside.length),
    ...(stay === 0 ? [] : [`not erased, because paths have them now: ${counted(stay, "content")}`]),
    ...rowsOf(kept.map((one) => ({ ...one, paths: one.now_in, total_paths: one.now_in.length }))),
    ...more(stay),
    ...untracked.map((path) => `not recorded any more (its file stays): ${printable(path)}`),
    ...elsewhere.map(({ workspace, contents: count }) =>
      paint("yellow", `workspace ${workspace} needs ${counted(count, "content")} of these: erase them there as well`),
    ),
  ];
}

function next(context: CommandContext, shape: EraseShape): string[] {
  const { id, until, freed, not_freed: why, not_reached: others } = shape;
  if (id === null) return [];
  const hashes = [`not reached: ${others.join("; ")}`, "a short secret can be guessed by its hash: change the secret"];
  if (freed === true) return ["their bytes are gone from the store", ...hashes];
  if (freed === false)
    return [context.paint("yellow", `not all of their bytes have left the store: ${why ?? ""}`), ...hashes];
  const back = context.worded(
    `until ${until ?? ""} \`chronicle unerase ${id.slice(0, 8)}\` brings them back; then chronicle gc frees them`,
  );
  return [back, ...hashes];
}

export async function erase(context: CommandContext): Promise<number> {
  const dryRun = context.input.flag("dryRun");
  const now = context.input.flag("now");
  const workspace = await context.workspace({});
  const options = await optionsOf(context, workspace);
  if (!dryRun && (await context.isOperator()) && !(await agreed(context, workspace, options))) return EXIT.failed;
  const result = await workspace.erase({ ...options, dryRun, ...(now ? { now } : {}) });
  if (context.json) context.printJson(result);
  else for (const line of [...told(context, result), ...next(context, result)]) context.print(line);
  return result.freed === false ? EXIT.failed : EXIT.done;
}

function askedText({ asked: { path, content, match } }: ErasureShape): string {
  if (match !== undefined) return `--match ${printable(match)}`;
  return path === undefined ? (content ?? "").slice(0, 12) : printable(path);
}

function rowOf(one: ErasureShape): string[] {
  const when = minuteOf(one.at);
  const back = one.can_be_withdrawn ? `until ${minuteOf(one.until)}` : "for good";
  const why = one.reason === null ? "" : printable(one.reason);
  return [
    one.id.slice(0, 8),
    when,
    back,
    counted(one.total + one.kept_aside, "content"),
    askedText(one),
    printable(one.actor),
    why,
  ];
}

export async function unerase(context: CommandContext): Promise<number> {
  const [id] = context.input.args;
  const workspace = await context.workspace({});
  if (id === undefined) {
    const all = await workspace.erasures();
    if (context.json) context.printJson(all);
    else if (all.length === 0) context.say("nothing was erased");
    else for (const line of columns(all.map(rowOf), "<<<>")) context.print(line);
    return EXIT.done;
  }
  const back = await workspace.unerase(id);
  if (context.json) context.printJson(back);
  else context.print(`brought back ${counted(back.total + back.kept_aside, "content")} (${askedText(back)})`);
  return EXIT.done;
}
