import { readPath } from "./given-path.ts";
import { visible } from "./words.ts";

/** A path: the folders quiet, the name plain. In a narrow place, the folders are cut first. */
export function PathText({ path, isFolder = false }: { readonly path: string; readonly isFolder?: boolean }) {
  const shown = visible(readPath(path));
  const slash = shown.lastIndexOf("/");
  return (
    <span className="path" title={shown}>
      {slash < 0 ? null : <span className="path-folder">{shown.slice(0, slash + 1)}</span>}
      <bdi className="path-name">
        {shown.slice(slash + 1)}
        {isFolder ? "/" : ""}
      </bdi>
    </span>
  );
}

/** Shows the numbers of added and removed lines. */
export function LineCounts({ added, removed }: { readonly added: number; readonly removed: number }) {
  return (
    <span className="counts">
      {added > 0 || removed === 0 ? <span className="added">+{added}</span> : null}
      {removed > 0 ? <span className="removed">−{removed}</span> : null}
    </span>
  );
}
