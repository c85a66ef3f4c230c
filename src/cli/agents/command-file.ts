import { createHash } from "node:crypto";
import { conversationBack } from "../render/turns.ts";
import type { ConfigFile } from "./agent-config.ts";

// The files of the slash commands that Chronicle adds to agents. The whole file belongs to Chronicle until a person
// edits it. The first comment of the file has a hash of the rest of the file, which reveals an edit.

/** The layout of an agent's files of commands. */
interface CommandStyle {
  /** The name of the agent's actor. */
  readonly actor: string;
  /**
   * The text that stands in the file for what the user writes after the command. It is either a placeholder that the
   * agent replaces, or a phrase that tells the model where to look. `undefined` if the file needs no such text.
   */
  readonly words?: string;
  /** Returns the text of the file. `mark`: a line that the file must have as a separate comment. */
  text(command: SlashCommand, body: string, mark: string): string;
}

interface SlashCommand {
  readonly name: string;
  readonly description: string;
  readonly hint: string;
  /** Returns the text for the model. */
  body(words: string, style: CommandStyle): string;
}

const SAID = (words: string): string => `What the user said about it: ${words}`;

const UNDO: SlashCommand = {
  name: "chronicle-undo",
  description: "Take back changes of files with Chronicle: the last turn's, or those that are named",
  hint: "[file, turn, agent or time]",
  body: (words, { actor }) => `The user wants changes of files taken back. Chronicle has recorded them. ${SAID(words)}

Do this only if the user has asked for it.

1. Call the tool \`undo\` of the MCP server \`chronicle\` once, with what the user meant:
   - The user said nothing about it: {"turn": "last", "actor": "${actor}"}. This is the last turn of yours that changed something.
   - A file: {"file": "PATH"}. Together with "turn", "session" or "actor", only that work on the file.
   - Somebody's work: {"actor": "NAME"}, or {"turn": "last", "actor": "NAME"} for the last turn of it.
   - Anything else: find the id with \`list_actions\` or \`list_history\`, then {"turn": "ID"}, {"action": "ID"}, {"session": "ID"} or {"since": "TIME"}.
   If it is not clear what the user meant, call \`undo\` with "dry_run": true, say what would change, and ask.
   If this server is not there, run \`chronicle undo --turn last --actor ${actor}\` in a shell; \`chronicle undo -h\` lists the options.
2. Do not edit files for this, and do not use git.
3. Tell the user in a few words what was taken back and which paths were left alone. The tool \`redo\`, or \`chronicle redo\`, brings it back.
`,
};

const REWIND: SlashCommand = {
  name: "chronicle-rewind",
  description: "Bring the files back to before an earlier prompt with Chronicle",
  hint: "[turn, or how many turns back]",
  body: (
    words,
    { actor },
  ) => `The user wants the files as they were before one of their earlier prompts. Chronicle has recorded the changes. ${SAID(words)}

Do this only if the user has asked for it.

1. Find the turn of that prompt, with the MCP server \`chronicle\`:
   - The user said nothing about it: the tool \`what_changed\` with {"turn": "last", "actor": "${actor}"} shows the last turn of yours that changed something, and its id.
   - The user named a turn's id: take it.
   - Anything else, such as "two prompts ago": the tool \`list_actions\` lists single tool calls, newest first, each with its turn and session. Several calls belong to one turn: count turns of this session, not calls, and leave out turns whose calls are marked UNDONE. Then call \`undo\` with {"rewind": "TURN", "dry_run": true}, say when that turn began and what would change, and ask whether this is the one.
2. Call the tool \`undo\` once with {"rewind": "TURN"}. It takes back that turn and all later work of its session. The work of others stays.
   If this server is not there: \`chronicle turns --actor ${actor}\` in a shell lists the turns, and \`chronicle rewind TURN\` goes to before one.
3. Do not edit files for this, and do not use git.
4. Tell the user in a few words what was taken back and which paths were left alone. The tool \`redo\`, or \`chronicle redo\`, brings it back.
   The conversation stays as it is. ${backText(actor)}
`,
};

function backText(actor: string): string {
  const how = conversationBack(actor);
  return how === undefined ? "" : `Say how the user brings it there as well: ${how}`;
}

export const MARKDOWN_COMMANDS: CommandStyle = {
  actor: "claude",
  words: "$ARGUMENTS",
  text: ({ description, hint }, body, mark) =>
    `---\n${mark}\ndescription: "${description}"\nargument-hint: "${hint}"\n---\n\n${body}`,
};

export const TOML_COMMANDS: CommandStyle = {
  actor: "gemini",
  words: "{{args}}",
  text: ({ description }, body, mark) => `${mark}\ndescription = "${description}"\nprompt = '''\n${body}'''\n`,
};

export const OPENCODE_COMMANDS: CommandStyle = {
  actor: "opencode",
  words: "$ARGUMENTS",
  text: ({ description }, body, mark) => `---\n${mark}\ndescription: "${description}"\n---\n\n${body}`,
};

/**
 * Cursor passes the whole file to the model. The words that the user writes after the command are a part of the same
 * message.
 */
export const CURSOR_COMMANDS: CommandStyle = { ...OPENCODE_COMMANDS, actor: "cursor", words: "in this message" };

/** Cline puts the words that the user writes after the command at the end of the text. */
export const CLINE_WORKFLOWS: CommandStyle = {
  actor: "cline",
  words: "the words at the end of this message, if there are any",
  text: ({ name, description }, body, mark) =>
    `---\n${mark}\nname: ${name}\ndescription: "${description}"\n---\n\n${body}`,
};

export const SKILLS: CommandStyle = {
  actor: "codex",
  text: ({ name, description }, body, mark) =>
    `---\n${mark}\nname: ${name}\ndescription: "${description}. Only if the user asks for it."\n---\n\n${body}`,
};

export const COPILOT_SKILLS: CommandStyle = { ...SKILLS, actor: "copilot" };

/**
 * Returns the files of the commands. `pathOf` returns the path of a command's file, as in `ConfigFile`. `shared`: the
 * number of folders above a file that an installation may have made, and that an uninstallation removes if they are
 * empty.
 */
export function commandFiles(
  style: CommandStyle,
  pathOf: (name: string) => string,
  shared: number,
): readonly ConfigFile[] {
  return [UNDO, REWIND].map((command) => {
    const text = signed((mark) => style.text(command, command.body(style.words ?? "see above", style), mark));
    return {
      path: pathOf(command.name),
      holds: "command",
      otherwise: "cannot read this file",
      foldersAbove: shared,
      misfit: () => undefined,
      install: (given) => {
        if (given === undefined || given === "") return text;
        return isUnedited(given) ? withFolders(text, foldersMade(given)) : given;
      },
      noteFolders: withFolders,
      foldersMade,
      uninstall: (given) => (isUnedited(given) ? "" : given),
      found: (given) => ({
        ...{ hooks: [], mcp: undefined, missing: [], misplaced: [] },
        command: given === "" ? "missing" : isUnedited(given) ? "unedited" : "edited",
        namesake: given !== "" && !isUnedited(given),
      }),
    };
  });
}

const MARK = /^# Written by `chronicle agents install` \(([0-9a-f]{16})\).*$/m;

function markOf(hash: string): string {
  return `# Written by \`chronicle agents install\` (${hash}). If you edit this file, it stays as you leave it.`;
}

const FOLDERS = /^(# Written by `chronicle agents install` .*) Folders made for it: (\d)\.$/m;

/**
 * Returns an unedited text after adding to its mark how many folders were made for the file. If `made` is `undefined`,
 * returns the text unchanged.
 */
function withFolders(text: string, made: number | undefined): string {
  return made === undefined ? text : text.replace(MARK, (mark) => `${mark} Folders made for it: ${made}.`);
}

function foldersMade(text: string): number | undefined {
  const made = FOLDERS.exec(text)?.[2];
  return made === undefined ? undefined : Number(made);
}

/** Returns the text with a mark that holds the hash of the rest of the text. */
function signed(textWith: (mark: string) => string): string {
  return textWith(markOf(hashOf(textWith(""))));
}

function hashOf(rest: string): string {
  return createHash("sha256").update(rest).digest("hex").slice(0, 16);
}

/** True if Chronicle has written the text, in this version or an earlier one, and nobody has changed it since. */
function isUnedited(text: string): boolean {
  const [mark, hash] = MARK.exec(text) ?? [];
  return mark !== undefined && hashOf(text.replace(mark, "")) === hash;
}
