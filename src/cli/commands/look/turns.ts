import type { TurnShape } from "../../../api/action-shapes.ts";
import { EXIT } from "../../../api/problems.ts";
import type { TurnsOptions } from "../../../api/action-api.ts";
import { printable, shortened, widthOf } from "../../../process/printable.ts";
import { optional } from "../../../util/optional.ts";
import { columns, isNarrow, LONGEST_NARROW_NAME } from "../../render/columns.ts";
import type { TimelineContext } from "../../render/timeline.ts";
import { numbersOf, pathsOfTurn, turnTitle } from "../../render/turns.ts";
import { ago, shortAgo } from "../../render/words.ts";
import type { CommandContext } from "../../support/context.ts";
import { greatestOf } from "../../../util/long-lists.ts";

const DEFAULT_LIMIT = 20;
const LONGEST_TITLE = 60;
const LONGEST_PATH = 40;

/**
 * The widths of paths, in columns, that are tried on a terminal, in this order. If no width leaves `READABLE_TITLE`
 * columns for the titles, the paths are left out.
 */
const PATH_WIDTHS = [LONGEST_PATH, 20, 10];
const READABLE_TITLE = 30;
const SHORTEST_TITLE = 8;

/** Lists the turns of agents, newest first: what a person asked, and what was changed to answer it. */
export async function turns(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const limit = context.input.number("limit") ?? DEFAULT_LIMIT;
  const all = await workspace.turns({
    ...turnsFilter(context),
    limit: limit === 0 ? Number.MAX_SAFE_INTEGER : limit,
  });
  if (context.json) {
    context.printJson(all);
    return EXIT.done;
  }
  const paths = context.paths(workspace);
  for (const line of turnLines(context, all, (path) => paths.shown(path))) context.print(line);
  if (all.length === 0)
    context.say(context.worded("no turns yet: after `chronicle agents install`, what you ask an agent is recorded"));
  else
    context.print(
      context.paint("dim", context.worded("chronicle rewind TURN undoes a turn and all later work of its session")),
    );
  return EXIT.done;
}

/** Returns the filter that the options `--session` and `--actor` describe. */
export function turnsFilter({ input }: CommandContext): TurnsOptions {
  return optional({ session: input.text("session"), actor: input.text("actor") });
}

/** The widths of a turn's title and of its path. */
interface Widths {
  readonly title: number;
  readonly path: number;
}

/** Returns one line for each turn. If the output is a terminal, the lines fit its width. */
export function turnLines(
  context: Pick<CommandContext, "paint"> & { readonly io: TimelineContext["io"] },
  all: readonly TurnShape[],
  shown: (path: string) => string,
): string[] {
  const { paint, io } = context;
  const numbers = numbersOf(all);
  const narrow = isNarrow(io.out);
  const row = (one: TurnShape, { title: most, path }: Widths): string[] => {
    const title = shortened(turnTitle(one), most);
    const actor = printable(one.actor);
    const paths = path === 0 ? "" : pathsOfTurn(one, shown, path);
    return [
      String(numbers.get(one) ?? ""),
      narrow ? shortAgo(one.started, io.now()) : ago(one.started, io.now()),
      narrow ? shortened(actor, LONGEST_NARROW_NAME) : actor,
      paint("dim", one.short_id),
      one.prompt_state === "kept" ? title : paint("dim", title),
      [paths, undoneWord(context, one)].filter(Boolean).join("  "),
    ];
  };
  const rows = (widths: Widths): string[] =>
    columns(
      all.map((one) => row(one, widths)),
      "><<<<<",
    );
  if (!io.out.isTerminal) return rows({ title: LONGEST_TITLE, path: LONGEST_PATH });
  const needed = greatestOf(all.map((one) => Math.min(LONGEST_TITLE, widthOf(turnTitle(one)))));
  return rows(fittingWidths(io.out.columns, needed, (path) => greatestOf(rows({ title: 0, path }).map(widthOf))));
}

/**
 * Returns the widths of titles and paths. Paths get the greatest width that leaves enough room for the titles. `others`
 * returns the width of the other columns and the paths, if a path may take `path` columns.
 */
function fittingWidths(columns: number, needed: number, others: (path: number) => number): Widths {
  for (const path of PATH_WIDTHS) {
    const title = Math.min(needed, columns - others(path));
    if (title >= Math.min(needed, READABLE_TITLE)) return { title, path };
  }
  return { title: Math.max(SHORTEST_TITLE, columns - others(0)), path: 0 };
}

function undoneWord({ paint }: Pick<CommandContext, "paint">, { undone }: TurnShape): string {
  if (undone === "no") return "";
  return paint("dim", undone === "yes" ? "(undone)" : "(partly undone)");
}
