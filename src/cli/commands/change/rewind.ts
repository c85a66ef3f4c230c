import type { TurnShape } from "../../../api/action-shapes.ts";
import { EXIT } from "../../../api/problems.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { meantBy } from "../../../core/values/meant-by.ts";
import { quoteCommand } from "../../../core/shell/quote-command.ts";
import { printable, shortened } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";
import { forkOf } from "../../agents/fork-conversation.ts";
import { conversationBack, isCounted, pathsOfTurn, turnTitle } from "../../render/turns.ts";
import { ago } from "../../render/words.ts";
import type { CommandContext } from "../../support/context.ts";
import { turnsFilter } from "../look/turns.ts";
import { restoreMoment } from "./restore.ts";
import { undoSelected } from "./undo.ts";

/** The maximum number of turns that the picker offers. `chronicle turns` lists all turns. */
const MOST_OFFERED = 200;
const LONGEST_TITLE = 70;
const LONGEST_PATH = 40;

/**
 * Brings the files back to the state before a prompt. Takes back the turn of the prompt and all later work of its
 * session. With `--everything`, takes back all work since the prompt, whoever did it. If no turn is given, a person at
 * a terminal chooses one. With `--conversation`, the agent's program also copies the conversation up to the prompt.
 */
export async function rewind(context: CommandContext): Promise<number> {
  const [asked] = context.input.args;
  const workspace = await context.workspace({ readOnly: context.input.flag("dryRun") });
  const turn = asked === undefined ? await picked(context, workspace) : await turnMeant(context, workspace, asked);
  if (turn === undefined) return EXIT.failed;
  const copy = await conversationCopied(context, turn);
  if (!context.json) context.say(`to before: ${shortened(turnTitle(turn), LONGEST_TITLE)}`);
  const code = context.input.flag("everything")
    ? await restoreMoment(context, `seq:${turn.seq}`)
    : await undoSelected(context, { rewind: idOf(turn) });
  if (copy !== undefined)
    tell(context, `a copy of the conversation that ends before this prompt: ${quoteCommand(copy)}`);
  else if (!context.json && code === EXIT.done && !context.input.flag("dryRun")) tellHow(context, turn);
  return code;
}

function tell(context: CommandContext, line: string): void {
  if (context.json) context.say(line);
  else context.print(context.paint("dim", line));
}

/** Prints how a person can bring the agent's conversation back to the state before the turn. */
function tellHow(context: CommandContext, turn: TurnShape): void {
  const how = conversationBack(turn.actor);
  if (how === undefined) return;
  tell(context, `the conversation stays as it is; to bring it there as well: ${how}`);
  if (turn.session !== null && forkOf(turn.actor) !== undefined)
    tell(context, context.worded(`or make a copy of it: chronicle rewind ${turn.short_id} --conversation`));
}

/**
 * With `--conversation`, has the agent's program copy the conversation up to the turn, and returns the command line
 * that opens the copy. The copy is made before any file changes, so that nothing has changed if the copy fails.
 */
async function conversationCopied(context: CommandContext, turn: TurnShape): Promise<readonly string[] | undefined> {
  if (!context.input.flag("conversation")) return undefined;
  await context.refuseAgent("copy a conversation");
  if (context.remote !== undefined) {
    throw usageError(
      "--conversation is about an agent of this machine",
      "run it where the agent runs, or leave it out",
    );
  }
  const fork = forkOf(turn.actor);
  if (fork === undefined || turn.session === null) {
    const how = conversationBack(turn.actor) ?? "leave out --conversation";
    throw usageError(`${printable(turn.actor)} cannot be told to copy a conversation`, how);
  }
  if (context.input.flag("dryRun")) return undefined;
  return fork({ session: turn.session, turn: turn.turn }, { env: context.io.env, cwd: context.io.cwd() });
}

/** Returns a text that names only this turn, even if another session has a turn of the same id. */
function idOf({ session, turn }: TurnShape): string {
  return session === null ? turn : `${session}:${turn}`;
}

const LIST = "`chronicle turns` lists the turns; give one of them, `last`, or a number counted back";

/**
 * Returns the turn that the text `asked` names. `last` and numbers count back, from 1 for the last turn. Only turns
 * that changed something and are not undone are counted. Throws `NOT_FOUND` or `AMBIGUOUS`.
 */
async function turnMeant(context: CommandContext, workspace: WorkspaceApi, asked: string): Promise<TurnShape> {
  const all = await workspace.turns({ ...turnsFilter(context), limit: Number.MAX_SAFE_INTEGER });
  const exact = all.find((one) => one.turn === asked || idOf(one) === asked);
  if (exact !== undefined && all.filter(({ turn }) => turn === asked).length < 2) return exact;
  const back = asked === "last" ? 1 : /^\d{1,4}$/.test(asked) ? Number(asked) : undefined;
  if (back !== undefined) {
    const counted = all.filter(isCounted);
    const turn = counted[back - 1];
    if (turn !== undefined) return turn;
    if (!all.some((one) => one.turn.startsWith(asked)))
      throw new ChronicleError("NOT_FOUND", `there is no turn ${asked}: only ${counted.length} can be counted back`, {
        hint: LIST,
      });
  }
  const byTurn = meantBy(all, asked, ({ turn }) => turn);
  const found = byTurn.length > 0 ? byTurn : meantBy(all, asked, idOf);
  const [only, ...others] = found;
  if (only === undefined)
    throw new ChronicleError("NOT_FOUND", `there is no turn ${JSON.stringify(asked)}`, { hint: LIST });
  if (others.length === 0) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${found.length} turns`, {
    hint: "give more of the id, or write SESSION:TURN; `chronicle turns` lists them",
    data: { turns: found.map(idOf) },
  });
}

/** Lets a person at a terminal choose a turn. Returns `undefined` if the person chooses none. */
async function picked(context: CommandContext, workspace: WorkspaceApi): Promise<TurnShape | undefined> {
  if (!context.canAsk) throw usageError("which turn?", LIST);
  const all = await workspace.turns({ ...turnsFilter(context), limit: MOST_OFFERED });
  if (all.length === 0) {
    throw new ChronicleError("NOT_FOUND", "there are no turns yet", {
      hint: "after `chronicle agents install`, what you ask an agent is recorded",
    });
  }
  const paths = context.paths(workspace);
  const { autocomplete, isCancel } = await import("@clack/prompts");
  const answer = await autocomplete({
    message: "Go to before which prompt? (type to search)",
    options: all.map((one) => optionOf(context, one, (path) => paths.shown(path))),
    output: process.stderr,
  });
  if (!isCancel(answer)) return all.find((one) => idOf(one) === answer);
  context.say("nothing was changed");
  return undefined;
}

function optionOf(context: CommandContext, one: TurnShape, shown: (path: string) => string) {
  const state = one.undone === "yes" ? ", undone" : one.undone === "part" ? ", partly undone" : "";
  const when = ago(one.started, context.io.now());
  const hint = `${when}, ${printable(one.actor)}: ${pathsOfTurn(one, shown, LONGEST_PATH)}${state}`;
  return { value: idOf(one), label: shortened(turnTitle(one), LONGEST_TITLE), hint };
}
