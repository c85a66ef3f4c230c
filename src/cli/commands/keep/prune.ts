import type { PruneOptions } from "../../../api/action-api.ts";
import type { PruneShape, RetentionShape } from "../../../api/action-shapes.ts";
import { EXIT } from "../../../api/problems.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { formatBytes, parseDuration } from "../../../core/values/duration.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { partId } from "../../../core/records/tombstone.ts";
import { confirm, refuseWithoutPerson } from "../../support/confirm.ts";
import type { CommandContext } from "../../support/context.ts";
import { counted } from "../../render/words.ts";
import { usageError } from "../../../process/usage-error.ts";

const COUNTS = ["keepLast", "keepHourly", "keepDaily", "keepWeekly", "keepMonthly", "keepYearly"] as const;

const LIMITS = [
  ["maxSnapshots", "max_snapshots"],
  ["maxAgeDays", "max_age_days"],
  ["minAgeHours", "min_age_hours"],
] as const;

function wantedOf({ input }: CommandContext): PruneOptions {
  const options: { -readonly [Key in keyof PruneOptions]: PruneOptions[Key] } = {};
  for (const name of COUNTS) {
    const value = input.number(name);
    if (value !== undefined) options[name] = value;
  }
  const within = input.text("keepWithin");
  const ms = within === undefined ? undefined : parseDuration(within);
  if (within !== undefined && ms === undefined) {
    throw usageError(`--keep-within: '${within}' is no length of time`, "write it as 7d, 12h or 30m");
  }
  if (ms !== undefined) options.keepWithinMs = ms;
  return input.flag("dropPinned") ? { ...options, keepPinned: false } : options;
}

/** Returns the limits that the command line sets. They override the limits of `config.yaml`. */
function limitsOf({ input }: CommandContext): Partial<RetentionShape> {
  const limits: Partial<RetentionShape> = {};
  for (const [name, key] of LIMITS) {
    const value = input.number(name);
    if (value !== undefined) limits[key] = value;
  }
  return limits;
}

function given(result: PruneShape): string {
  const what = [
    ...(result.pruned_actions.length === 0 ? [] : [counted(result.pruned_actions.length, "action")]),
    ...(result.pruned_snapshots.length === 0 ? [] : [counted(result.pruned_snapshots.length, "snapshot")]),
  ];
  return what.join(" and ");
}

function sentence(result: PruneShape): string {
  const kept = `${counted(result.kept_actions, "action")} and ${counted(result.kept_snapshots, "snapshot")} kept`;
  const young =
    result.too_young === 0
      ? ""
      : ` (${result.too_young} of them because ${result.too_young === 1 ? "it is" : "they are"} younger than min_age_hours)`;
  if (given(result) === "") return `nothing to prune; ${kept}${young}`;
  const contents = `${counted(result.freed_contents, "content")} of ${formatBytes(result.freed_bytes)}`;
  if (result.dry_run) return `would give up ${given(result)}; ${kept}${young}; ${contents} could be freed`;
  return `gave up ${given(result)} (event ${result.event}); ${kept}${young}`;
}

function afterwards(context: CommandContext, workspace: WorkspaceApi, result: PruneShape): string {
  if (result.dry_run || result.event === null) return "";
  const contents = `${counted(result.freed_contents, "content")} of ${formatBytes(result.freed_bytes)}`;
  if (context.input.flag("now")) return `; chronicle gc frees ${contents}`;
  const back = `chronicle unforget ${partId(workspace.id, { kind: "pruning", event: result.event })}`;
  return `; for 24 hours \`${back}\` brings it back, then chronicle gc frees ${contents}`;
}

/**
 * Asks the user whether to prune, because pruned states can be brought back for 24 hours only. Returns true if the user
 * agrees. Returns true without asking if `--yes` is given, or if nothing would be pruned.
 *
 * With `--now`, the pruned states cannot be brought back at all. Only a person at a terminal can then agree, and
 * `--yes` has no effect.
 *
 * Throws `REFUSED` if nobody can be asked, unless `--yes` is given and has an effect. This also holds if nothing would
 * be pruned.
 */
async function agreed(context: CommandContext, workspace: WorkspaceApi, options: PruneOptions): Promise<boolean> {
  const now = context.input.flag("now");
  if (now) refuseWithoutPerson(context, "a part of a history");
  else if (context.input.flag("yes")) return true;
  if (!context.canAsk) {
    throw new ChronicleError("REFUSED", "pruning gives up earlier states, and nobody can be asked here", {
      hint: "--dry-run shows what would be given up; if you are sure, add --yes",
    });
  }
  const seen = await workspace.prune({ ...options, dryRun: true, ...(now ? { now } : {}) });
  if (given(seen) === "") return true;
  return confirm(
    context,
    now
      ? `Give up ${given(seen)} for good, at once? There is then no way back to them.`
      : `Give up ${given(seen)}? They can be brought back for 24 hours.`,
  );
}

export async function prune(context: CommandContext): Promise<number> {
  const options = wantedOf(context);
  const dryRun = context.input.flag("dryRun");
  const retention = limitsOf(context);
  const hasLimit = retention.max_snapshots !== undefined || retention.max_age_days !== undefined;
  if (hasLimit && Object.keys(options).some((name) => name !== "keepPinned"))
    throw usageError("limits (--max-…) and rules (--keep-…) do not go together", "give only limits, or only rules");
  await context.store({ retention });
  const workspace = await context.workspace({});
  if (!dryRun && (await context.isOperator()) && !(await agreed(context, workspace, options))) return EXIT.failed;
  const result = await workspace.prune({ ...options, dryRun, ...(context.input.flag("now") ? { now: true } : {}) });
  if (context.json) context.printJson(result);
  else context.print(context.worded(sentence(result) + afterwards(context, workspace, result)));
  return EXIT.done;
}
