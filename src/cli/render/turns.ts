import type { TurnShape } from "../../api/action-shapes.ts";
import { printable, shortened } from "../../process/printable.ts";

const WITHOUT_PROMPT: Readonly<Record<Exclude<TurnShape["prompt_state"], "kept">, string>> = {
  none: "(prompt not recorded)",
  gone: "(prompt no longer kept)",
  hidden: "(prompt shown to persons only)",
};

/** Returns the first line of a turn's prompt that is not empty, or the reason why there is none. On one line. */
export function turnTitle({ prompt, prompt_state: state }: Pick<TurnShape, "prompt" | "prompt_state">): string {
  if (state !== "kept") return WITHOUT_PROMPT[state];
  const line = (prompt ?? "").split(/[\r\n]/).find((one) => one.trim() !== "") ?? "";
  return printable(line.trim());
}

/** True if the turn has a number in lists: it changed something, and not all of it is undone. */
export function isCounted({ changed, undone }: Pick<TurnShape, "changed" | "undone">): boolean {
  return changed > 0 && undone !== "yes";
}

/** Returns the number of each turn that `isCounted`. The numbers count back: 1 is the last such turn. */
export function numbersOf(turns: readonly TurnShape[]): ReadonlyMap<TurnShape, number> {
  return new Map(turns.filter(isCounted).map((turn, at) => [turn, at + 1]));
}

/** Returns words for the paths of a turn: `src/a.ts and 2 more`. */
export function pathsOfTurn(
  { paths, changed }: Pick<TurnShape, "paths" | "changed">,
  shown: (path: string) => string,
  most: number,
): string {
  const [first] = paths;
  if (first === undefined) return "no changes";
  const name = shortened(shown(first), most);
  return changed === 1 ? name : `${name} and ${changed - 1} more`;
}

/**
 * The words with which each agent goes back in its conversation, by the agent's name. `chronicle rewind` changes files
 * only. The table in `docs/agents.md` has the same words, and transcripts of the programs.
 */
const CONVERSATIONS: ReadonlyMap<string, string> = new Map([
  ["claude", "in Claude Code, type /rewind (or press Esc twice), choose this prompt, and then Restore conversation"],
  ["codex", "in Codex, press Esc twice with nothing typed, choose this prompt (←, →), and press Enter"],
  ["gemini", "in Gemini CLI, type /rewind (or press Esc twice), choose this prompt, and then Rewind conversation"],
  ["opencode", "in opencode, type /fork, and choose this prompt; /undo would change files as well"],
  ["copilot", "in Copilot CLI, type /rewind, choose this prompt, and then the conversation only"],
  ["cline", "in Cline, type /undo, choose this prompt, and then Restore chat only; this works in git repositories"],
]);

/** Returns how a person brings the conversation of this agent to the same point; `undefined` for an unknown agent. */
export function conversationBack(actor: string): string | undefined {
  return CONVERSATIONS.get(actor);
}
