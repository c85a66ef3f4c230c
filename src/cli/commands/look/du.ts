import { EXIT } from "../../../api/problems.ts";
import type { DuGroupShape, DuShape, KeptBesideShape } from "../../../api/shapes.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import type { CommandContext } from "../../support/context.ts";
import { columns } from "../../render/columns.ts";
import { counted } from "../../render/words.ts";
import { printable } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";

const GROUPINGS = ["session", "path", "age"] as const;
const MOST_GROUPS = 20;

function groupingOf({ input }: CommandContext): (typeof GROUPINGS)[number] | undefined {
  const typed = input.text("by");
  if (typed === undefined) return undefined;
  const found = GROUPINGS.find((one) => one === typed);
  if (found === undefined) throw usageError(`--by: there is no '${typed}'`, `it takes ${GROUPINGS.join(", ")}`);
  return found;
}

async function usage(context: CommandContext): Promise<DuShape> {
  const by = groupingOf(context);
  if (by === undefined) return (await context.store()).du();
  return (await context.reading()).du({ by });
}

function printGroups(context: CommandContext, groups: readonly DuGroupShape[]): void {
  const rows = groups
    .slice(0, MOST_GROUPS)
    .map(({ name, count, content_bytes: bytes }) => [printable(name), formatBytes(bytes), counted(count, "blob")]);
  context.print();
  for (const line of columns(rows, "<>")) context.print(line);
  if (groups.length > MOST_GROUPS) context.print(`… and ${groups.length - MOST_GROUPS} smaller: --json shows all`);
}

function keptText({ prompts, git, aside, unread = 0 }: KeptBesideShape): string {
  const sizes = [`prompts ${formatBytes(prompts.stored_bytes)}`, `git objects ${formatBytes(git.stored_bytes)}`];
  const left = unread === 0 ? "" : `; without ${counted(unread, "history", "histories")} that cannot be read`;
  return `of the contents, kept beside the history: ${sizes.join(", ")}, set aside ${formatBytes(aside.stored_bytes)}${left}`;
}

const MOST_BUDGETS = 5;

/**
 * Returns a line for each workspace, up to `MOST_BUDGETS`: the bytes that the workspace keeps beside its history, the
 * budget for these bytes, and what was given up because the budget was exceeded.
 */
function budgetLines({ budgets }: KeptBesideShape): string[] {
  const rows = budgets
    .slice(0, MOST_BUDGETS)
    .map(({ workspace, used_bytes: used, budget_bytes: budget, given_up: given }) => [
      `  ${workspace.slice(0, 8)}`,
      `${formatBytes(used)} of ${budget === 0 ? "any size" : formatBytes(budget)}`,
      given === undefined
        ? ""
        : `given up: ${formatBytes(given.bytes)} of ${counted(given.records, "run or action", "runs and actions")}`,
    ]);
  const more = budgets.length > MOST_BUDGETS ? [`  … and ${budgets.length - MOST_BUDGETS} more: --json shows all`] : [];
  return [...columns(rows, "<>"), ...more];
}

/** Returns what the other bytes are, the largest part first. */
function otherText({ other_parts: parts }: DuShape): string {
  const named: readonly (readonly [string, number])[] = [
    ["caches", parts.cache_bytes],
    ["stat caches", parts.stat_cache_bytes],
    ["unused room in packs", parts.unused_bytes],
    ["quarantine", parts.quarantine_bytes],
    ["forgotten histories", parts.forgotten_bytes],
  ];
  const shown = named.filter(([, bytes]) => bytes > 0).toSorted(([, a], [, b]) => b - a);
  return [...shown.map(([name, bytes]) => `${name} ${formatBytes(bytes)}`), "locks"].join(", ");
}

export async function du(context: CommandContext): Promise<number> {
  const result = await usage(context);
  if (context.json) {
    context.printJson(result);
    return EXIT.done;
  }
  const { blobs } = result;
  const rows = [
    [
      "contents",
      formatBytes(blobs.stored_bytes),
      `${counted(blobs.count, "blob")} of ${formatBytes(blobs.content_bytes)}`,
    ],
    ["logs", formatBytes(result.log_bytes), "archives included"],
    ["indexes", formatBytes(result.index_bytes), context.worded("can be made anew: chronicle rebuild")],
    ["other", formatBytes(result.other_bytes), otherText(result)],
    ["total", formatBytes(result.total_bytes), printable(result.store)],
  ];
  for (const line of columns(rows, "<>")) context.print(line);
  if (result.kept_beside !== undefined) {
    context.print(keptText(result.kept_beside));
    for (const line of budgetLines(result.kept_beside)) context.print(line);
  }
  if (result.groups !== undefined) printGroups(context, result.groups);
  return EXIT.done;
}
