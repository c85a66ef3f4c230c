import { AsyncLocalStorage } from "node:async_hooks";

type Tell = (note: string) => void;

/**
 * The command that this process is carrying out for another process, in the present asynchronous context. `tell`
 * receives the notes for that command.
 */
const commands = new AsyncLocalStorage<{ tell: Tell | undefined }>();

/**
 * Calls `work`, which carries out a command and passes a receiver of notes to `tellTo`. The receiver then gets the
 * store's notes about this command. The asynchronous context tells to which command a note belongs, because commands
 * share the workspaces of the process.
 */
export async function withNotes<T>(work: (tellTo: (tell: Tell | undefined) => void) => Promise<T>): Promise<T> {
  const command: { tell: Tell | undefined } = { tell: undefined };
  try {
    return await commands.run(command, () => work((tell) => (command.tell = tell)));
  } finally {
    // The command may have started background work that continues. Notes of that work no longer go to the command.
    command.tell = undefined;
  }
}

/** Passes a note to the command that is being carried out. Returns false if no command receives the note. */
export function tellCommand(note: string): boolean {
  const tell = commands.getStore()?.tell;
  tell?.(note);
  return tell !== undefined;
}
