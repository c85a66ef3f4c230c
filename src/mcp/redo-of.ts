/**
 * Returns a sentence that tells a model how to take an undo back. `id`: the id of an undo of somebody's work; `null`: a
 * step was undone.
 */
export function redoOf(id: string | null): string {
  return id === null ? "redo brings it again." : `redo {"operation":"${id}"} brings it again.`;
}
