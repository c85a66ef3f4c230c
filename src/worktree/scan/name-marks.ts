/** A fingerprint of a set of names, independent of their order: two words. */
export class NameMarks {
  #sum = 0;
  #mix = 0;

  get sum(): number {
    return this.#sum;
  }

  get mix(): number {
    return this.#mix;
  }

  add(name: string): void {
    // FNV-1a over UTF-16 units, then the finaliser of MurmurHash3 for an independent second word.
    let hash = 0x811c9dc5;
    for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
    this.#sum = (this.#sum + (hash >>> 0)) >>> 0;
    let mixed = Math.imul(hash ^ (hash >>> 16) ^ name.length, 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    this.#mix = (this.#mix + ((mixed ^ (mixed >>> 16)) >>> 0) + 1) >>> 0;
  }
}
