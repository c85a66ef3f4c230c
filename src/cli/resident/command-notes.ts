import { AsyncLocalStorage } from "node:async_hooks";

type Tell = (note: string) => void;

/** The commands that this process carries out for others, each with what takes its notes. */
const commands = new AsyncLocalStorage<{ tell: Tell | undefined }>();

/**
 * Carries out a command. Notes of the store about the command's work go to what `work` gives to the function that it
 * gets. The workspaces of the process are shared, so a note itself does not tell which command it is about.
 */
export async function withNotes<T>(work: (tellTo: (tell: Tell | undefined) => void) => Promise<T>): Promise<T> {
  const command: { tell: Tell | undefined } = { tell: undefined };
  try {
    return await commands.run(command, () => work((tell) => (command.tell = tell)));
  } finally {
    // Background work that the command has started may go on after the command.
    command.tell = undefined;
  }
}

/** Tells the command that is being carried out. Returns false if there is none. */
export function tellCommand(note: string): boolean {
  const tell = commands.getStore()?.tell;
  tell?.(note);
  return tell !== undefined;
}
