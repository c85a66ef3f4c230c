import type { Classed } from "../../api/file-api.ts";
import type { ActingAs, WorkspaceApi } from "../../api/workspace-api.ts";

/** The ways by which a command gets a content. */
type Contents = Pick<WorkspaceApi, "cat" | "file" | "blob" | "as">;

/** The one who asks for a content. */
interface Asker {
  /** Does an agent give the command, as far as its variables and the processes around it tell? */
  readonly isAgent: () => Promise<boolean>;
  /** The workspace is a server's: of its contents nobody here knows which are secrets. */
  readonly isRemote: boolean;
}

/**
 * A workspace as a command has it: a secret's content is asked for once more on behalf of an agent where one gives the command, and
 * its bytes are then refused. Whatever reads a content for an answer, or for a program, gets it through here.
 */
export function secretsForPeople(workspace: WorkspaceApi, asker: Asker): WorkspaceApi {
  const asAgent = (): WorkspaceApi => workspace.as({ role: "agent" });
  async function opened<T extends Classed>(open: (on: WorkspaceApi) => Promise<T>): Promise<T> {
    if (asker.isRemote) return open((await asker.isAgent()) ? asAgent() : workspace);
    const content = await open(workspace);
    // The processes around this one are looked at only where that matters.
    return content.class === "protected" && (await asker.isAgent()) ? open(asAgent()) : content;
  }
  const guarded: Contents = {
    cat: (path, iteration) => opened((on) => on.cat(path, iteration)),
    file: (path, options) => opened((on) => on.file(path, options)),
    blob: (hash) => opened((on) => on.blob(hash)),
    as: (who: ActingAs) => secretsForPeople(workspace.as(who), asker),
  };
  return new Proxy(workspace, {
    get: (target, key) => {
      if (Object.hasOwn(guarded, key)) return Reflect.get(guarded, key) as unknown;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
