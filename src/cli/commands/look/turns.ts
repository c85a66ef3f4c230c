import { stripVTControlCharacters } from "node:util";
import type { TurnShape } from "../../../api/action-shapes.ts";
import { EXIT } from "../../../api/problems.ts";
import type { TurnsOptions } from "../../../api/action-api.ts";
import { printable, shortened } from "../../../process/printable.ts";
import { optional } from "../../../util/optional.ts";
import { columns } from "../../render/columns.ts";
import { numbersOf, pathsOfTurn, turnTitle } from "../../render/turns.ts";
import { ago } from "../../render/words.ts";
import type { CommandContext } from "../../support/context.ts";
import { greatestOf } from "../../../util/long-lists.ts";

const DEFAULT_LIMIT = 20;
const LONGEST_TITLE = 60;
const SHORTEST_TITLE = 20;
const LONGEST_PATH = 40;

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
  else context.print(context.paint("dim", context.worded("chronicle rewind TURN goes to before one of them")));
  return EXIT.done;
}

/** Returns the turns that the options `--session` and `--actor` select. */
export function turnsFilter({ input }: CommandContext): TurnsOptions {
  return optional({ session: input.text("session"), actor: input.text("actor") });
}

function turnLines(context: CommandContext, all: readonly TurnShape[], shown: (path: string) => string): string[] {
  const { paint, io } = context;
  const numbers = numbersOf(all);
  const row = (one: TurnShape, title: string): string[] => [
    String(numbers.get(one) ?? ""),
    ago(one.started, io.now()),
    printable(one.actor),
    paint("dim", one.short_id),
    one.prompt_state === "kept" ? title : paint("dim", title),
    [pathsOfTurn(one, shown, LONGEST_PATH), undoneWord(context, one)].filter(Boolean).join("  "),
  ];
  const align = "><<<<<";
  const bare = columns(
    all.map((one) => row(one, "")),
    align,
  );
  const most = titleWidth(context, bare);
  return columns(
    all.map((one) => row(one, shortened(turnTitle(one), most))),
    align,
  );
}

/** Returns the number of characters that remain for titles beside the other columns. */
function titleWidth({ io }: CommandContext, others: readonly string[]): number {
  if (!io.out.isTerminal) return LONGEST_TITLE;
  const widest = Math.max(0, greatestOf(others.map((line) => stripVTControlCharacters(line).length)));
  return Math.max(SHORTEST_TITLE, Math.min(LONGEST_TITLE, io.out.columns - widest - 2));
}

function undoneWord({ paint }: CommandContext, { undone }: TurnShape): string {
  if (undone === "no") return "";
  return paint("dim", undone === "yes" ? "(undone)" : "(partly undone)");
}
