/**
 * The real agents in a terminal, with a model that follows a script. `chronicle rewind` brings the files to before a
 * prompt, and the agent brings the conversation there, as `docs/agents.md` says. The requests to the model prove it.
 * `npx vitest run --project long test/agents/rewind -u` writes the transcripts in `docs/rewind`.
 */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { TmuxTerminal } from "../helpers/tmux.ts";
import { AgentProject } from "./agent-project.ts";
import { AgentTerminal } from "./agent-terminal.ts";
import type { AgentProgram } from "./agent-program.ts";
import { isInstalled } from "./installed-agents.ts";
import { asObjects } from "./json.ts";
import {
  claudeTerminal,
  codexTerminal,
  geminiTerminal,
  opencodeTerminal,
  type TerminalProgram,
} from "./terminal-program.ts";

const KEPT = join(dirname(dirname(import.meta.dirname)), "docs", "rewind");

const FIRST = "Begin the story.";
const SECOND = "Make it two.";
const THIRD = "Write the sequel.";
const FOURTH = "End the story.";
const ANSWERS = {
  [FIRST]: { write: "story.txt", content: "one\na\nb\nend\n" },
  [SECOND]: { edit: "story.txt", from: "one", to: "two" },
  [THIRD]: { write: "sequel.txt", content: "sequel\n" },
  [FOURTH]: { write: "end.txt", content: "end\n" },
};

/** How a person brings the conversation of one agent to before the second prompt. */
interface Way {
  readonly terminal: TerminalProgram;
  readonly title: string;
  readonly back: (agent: AgentTerminal) => Promise<void>;
  /** How the command that opens a copy of a conversation is printed, and the words between it and a prompt. */
  readonly copy?: { readonly printed: RegExp; readonly words: string };
  /** Shows what the agent's own way back does to files, where it is not to be used. */
  readonly otherwise?: (agent: AgentTerminal, project: AgentProject) => Promise<void>;
}

const WAYS: readonly Way[] = [
  {
    terminal: claudeTerminal,
    title: "Claude Code",
    back: async (agent) => {
      const list = { from: /^ +Rewind$/, to: /Enter to continue/ };
      await agent.escapeTwice(list.to);
      agent.press("Escape");
      await agent.until(/accept edits on/);
      agent.note("Type `/rewind`, or press Esc twice with nothing typed.");
      await agent.command("/rewind", list.to);
      await agent.screen(list);
      agent.note("Choose the prompt (↑, Enter).");
      agent.press("Up");
      await agent.until(/❯ Make it two\.\n +story\.txt/);
      await agent.enter(/Summarize from here/);
      await agent.screen({ from: /^ +Rewind$/, to: /Summarize from here/ });
      agent.note("Choose *Restore conversation* (2).");
      agent.press("2");
      await agent.until(/❯ Make it two\.\n─/);
      await agent.screen({ from: /Done: Begin/, to: /❯ Make it two/ });
      agent.press("C-u");
    },
  },
  {
    terminal: codexTerminal,
    title: "Codex",
    back: async (agent) => {
      agent.note("Press Esc twice with nothing typed.");
      await agent.escapeTwice(/↵ rewind/);
      await agent.screen({ from: /› Begin the story/, to: /↵ rewind/ });
      agent.note("The last prompt is chosen already (← chooses an earlier one). Press Enter.");
      await agent.enter(/Conversation reverted to this point/);
      await agent.screen({ from: /› Begin the story/, to: /› Make it two/ });
      agent.press("C-u");
    },
    copy: { printed: /: (codex resume [\w-]+)\n/, words: "" },
  },
  {
    terminal: geminiTerminal,
    title: "Gemini CLI",
    back: async (agent) => {
      const list = { from: /> Rewind/, to: /Use Enter to select/ };
      await agent.escapeTwice(list.to);
      agent.press("Escape");
      await agent.until(/Type your message/);
      agent.note("Type `/rewind`, or press Esc twice with nothing typed.");
      await agent.command("/rewind", list.to);
      await agent.screen(list);
      agent.note("Choose the prompt itself, not a line *No files have been changed* (↑ twice, Enter).");
      agent.press("Up");
      await agent.until(/● No files have been changed/);
      agent.press("Up");
      await agent.until(/● Make it two/);
      await agent.enter(/Confirm Rewind/);
      await agent.screen({ from: /Confirm Rewind/, to: /Do nothing/ });
      agent.note("Choose *Rewind conversation* (2).");
      agent.press("2");
      await agent.screen({ from: /Done: Begin/, to: /Make it two/ });
      agent.press("C-u");
    },
  },
  {
    terminal: opencodeTerminal,
    title: "opencode",
    back: async (agent) => {
      agent.note("Type `/fork`.");
      await agent.command("/fork", /Full session/);
      await agent.screen({ from: /Fork session/, to: /Begin the story/ });
      agent.note("Choose the prompt (type to search, Enter).");
      agent.keys(SECOND);
      await agent.until(/Fork session(?![^]*Full session)/);
      await agent.enter(/^(?![^]*Fork session)[^]*Make it two/);
      await agent.screen({ from: /Done: Begin/, to: /Make it two/ });
      agent.press("C-u");
    },
    otherwise: async (agent, project) => {
      appendFileSync(join(project.folder, "sequel.txt"), "by a person\n");
      agent.note("`/undo` instead would change files, too. Add a line to `sequel.txt` yourself, and type `/undo`:");
      await agent.command("/undo", /1 message reverted/);
      await agent.screen({ from: /1 message reverted/, to: /sequel\.txt/ });
      agent.note("`sequel.txt` is gone, with your line. `/redo` brings both back.");
      const sequel = join(project.folder, "sequel.txt");
      expect(existsSync(sequel)).toBe(false);
      agent.press("C-u");
      await agent.command("/redo", /^(?![^]*message reverted)[^]*Done: Write/);
      await vi.waitFor(() => expect(project.read("sequel.txt")).toBe("sequel\nby a person\n"), 30_000);
      writeFileSync(sequel, "sequel\n");
    },
  },
];

const whyNot = TmuxTerminal.whyNot();
if (whyNot !== undefined) console.warn(`SKIPPED, SO NOT TESTED: going back in agents ${whyNot}`);

describe.each(WAYS.filter(({ terminal }) => whyNot === undefined && isInstalled(terminal.program)))(
  "$title",
  ({ terminal, title, back, otherwise, copy }) => {
    it("files by `chronicle rewind`, the conversation as the agent does it, and nothing of the person is lost", async () => {
      const kept = join(KEPT, `${terminal.program.name}.md`);
      await using project = new AgentProject(terminal.program);
      terminal.prepare({ home: project.home, folder: project.folder });
      project.install();
      project.commit();
      await using agent = await AgentTerminal.start(terminal, project, { kept, answers: ANSWERS });
      await agent.ask(FIRST);
      await agent.ask(SECOND);
      expect(agent.requests.at(-1)).toContain(SECOND);
      await recorded(project, SECOND);
      appendFileSync(join(project.folder, "story.txt"), "by a person\n");
      agent.note("Add a line to `story.txt` yourself, and take the files back in another terminal:");
      agent.note(["```console", "$ chronicle rewind last", said(project), "```"].join("\n"));
      expect(project.read("story.txt")).toBe("one\na\nb\nend\nby a person\n");

      await back(agent);
      const before = agent.requests.length;
      await agent.ask(THIRD);
      expect(project.read("sequel.txt")).toBe("sequel\n");
      expect(project.read("story.txt")).toBe("one\na\nb\nend\nby a person\n");
      const asked = agent.requests.slice(before).filter((request) => request.includes(THIRD));
      expect(asked.length).toBeGreaterThanOrEqual(2);
      for (const request of asked)
        expect([FIRST, SECOND].map((prompt) => request.includes(prompt))).toEqual([true, false]);
      await otherwise?.(agent, project);
      if (copy !== undefined) {
        const requests = await agent.askInCopy(copy.printed, { prompt: FOURTH, words: copy.words });
        expect(requests.length).toBeGreaterThanOrEqual(2);
        for (const request of requests)
          expect([FIRST, THIRD].map((one) => request.includes(one))).toEqual([true, false]);
        expect(project.read("end.txt")).toBe("end\n");
      }
      await expect(`${heading(title, terminal.program)}\n\n${agent.transcript}`).toMatchFileSnapshot(kept);
    }, 600_000);
  },
);

function heading(title: string, program: AgentProgram): string {
  const words =
    "The real program, with a model that follows a script. `test/agents/rewind.long.test.ts` types this, and";
  const proof = "proves that the model is then sent the first and the third prompt, and no longer the second.";
  return `# ${title} ${program.version}: to before a prompt\n\n${words}\n${proof}`;
}

/** Waits until the changes of the last turn are recorded. The agent may show its last word a moment before. */
async function recorded(project: AgentProject, prompt: string): Promise<void> {
  await vi.waitFor(
    () =>
      expect(asObjects(project.chronicle("turns"))[0], project.said("actions")).toMatchObject({ prompt, changed: 1 }),
    { timeout: 60_000, interval: 500 },
  );
}

/** What the command prints, with words in place of the turn's ids. */
function said(project: AgentProject): string {
  return project
    .said("rewind", "last")
    .trimEnd()
    .replace(/^turn \S+/m, "turn …")
    .replace(/rewind \S+ --conversation/, "rewind TURN --conversation");
}
