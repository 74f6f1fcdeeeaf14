/** A disk that loses power: files as they would be found, with unsynced writes dropped, torn or reordered. */
import { writeFileSync } from 'node:fs'
import { at } from '../../../src/core/util/lists.ts'
import type { SeededRandom } from '../random/seeded-random.ts'

/** One recorded call, as capture.c writes it. */
export interface DiskCall {
  readonly kind: 'write' | 'sync' | 'truncate' | 'remove'
  readonly file: 'database' | 'log' | 'journal' | 'ledger'
  readonly offset: number
  readonly bytes: Buffer
}

const KINDS = [undefined, 'write', 'sync', 'truncate', 'remove'] as const
const FILES = [undefined, 'database', 'log', 'journal', 'ledger'] as const
const HEADER_BYTES = 14

/** Returns the calls of a recording. Ignores an incomplete last one. */
export function readRecording(recording: Buffer): DiskCall[] {
  const calls: DiskCall[] = []
  for (let start = 0; start + HEADER_BYTES <= recording.length; ) {
    const end = start + HEADER_BYTES + recording.readUInt32LE(start + 10)
    if (end > recording.length) break
    const kind = KINDS[at(recording, start)]
    const file = FILES[at(recording, start + 1)]
    if (kind === undefined || file === undefined) throw new Error(`The recording is damaged at byte ${start}.`)
    const offset = Number(recording.readBigUInt64LE(start + 2))
    calls.push({ kind, file, offset, bytes: recording.subarray(start + HEADER_BYTES, end) })
    start = end
  }
  return calls
}

/** What happens to writes that were not synced. A disk may do any of these. */
const POLICIES = ['keep all', 'drop all', 'drop some', 'tear some', 'drop one', 'reorder'] as const

const SECTOR_BYTES = 512

/** The suffixes of the files of a database. */
const SUFFIXES = { database: '', log: '-wal', journal: '-journal' } as const

/** A disk with the files of one database. Calls are replayed in order; an image can be taken between any two. */
export class Disk {
  readonly #files = { database: new DiskFile(), log: new DiskFile(), journal: new DiskFile() }

  apply(call: DiskCall): void {
    if (call.file === 'ledger') return
    this.#files[call.file].apply(call)
  }

  /** Writes the files as they could be after a loss of power now. Returns what was done to unsynced writes, and to how many. */
  writeImage(path: string, random: SeededRandom): { readonly policy: string; readonly unsynced: number } {
    const policy = random.pick(POLICIES)
    let unsynced = 0
    for (const [name, suffix] of Object.entries(SUFFIXES)) {
      const file = this.#files[name as keyof typeof SUFFIXES]
      unsynced += file.unsynced
      const content = file.afterPowerLoss(policy, random)
      if (content !== undefined) writeFileSync(path + suffix, content)
    }
    return { policy, unsynced }
  }
}

class DiskFile {
  #exists = false
  readonly #synced = new Content()
  #pending: DiskCall[] = []

  get unsynced(): number {
    return this.#pending.length
  }

  apply(call: DiskCall): void {
    this.#exists = call.kind !== 'remove'
    if (call.kind === 'write' || call.kind === 'truncate') this.#pending.push(call)
    else if (call.kind === 'remove') this.#clear()
    else {
      for (const pending of this.#pending) this.#synced.apply(pending)
      this.#pending = []
    }
  }

  #clear(): void {
    this.#synced.truncate(0)
    this.#pending = []
  }

  /** Returns the bytes of the file; undefined if it does not exist. */
  afterPowerLoss(policy: (typeof POLICIES)[number], random: SeededRandom): Buffer | undefined {
    if (!this.#exists) return undefined
    const content = this.#synced.copy()
    for (const call of survivors(this.#pending, policy, random)) {
      if (policy === 'tear some' && call.kind === 'write' && random.chance(0.4)) tear(content, call, random)
      else content.apply(call)
    }
    return content.bytes()
  }
}

function survivors(pending: readonly DiskCall[], policy: (typeof POLICIES)[number], random: SeededRandom): readonly DiskCall[] {
  switch (policy) {
    case 'keep all':
      return pending
    case 'drop all':
      return []
    case 'drop some':
    case 'tear some':
      return pending.filter(() => random.chance(0.6))
    case 'drop one': {
      const dropped = random.below(Math.max(pending.length, 1))
      return pending.filter((_, index) => index !== dropped)
    }
    case 'reorder':
      return random.shuffle(pending.filter(() => random.chance(0.6)))
  }
}

/** Writes only some sectors of a write. */
function tear(content: Content, { offset, bytes, ...call }: DiskCall, random: SeededRandom): void {
  for (let start = 0; start < bytes.length; start += SECTOR_BYTES) {
    if (random.chance(0.5)) continue
    content.apply({ ...call, offset: offset + start, bytes: bytes.subarray(start, start + SECTOR_BYTES) })
  }
}

/** The bytes of a file, with space to grow. */
class Content {
  #space = Buffer.alloc(0)
  #length = 0

  apply({ kind, offset, bytes }: DiskCall): void {
    if (kind === 'truncate') {
      this.truncate(offset)
      return
    }
    this.#reserve(offset + bytes.length)
    bytes.copy(this.#space, offset)
    this.#length = Math.max(this.#length, offset + bytes.length)
  }

  truncate(length: number): void {
    this.#reserve(length)
    if (length < this.#length) this.#space.fill(0, length, this.#length)
    this.#length = length
  }

  copy(): Content {
    const copy = new Content()
    copy.#space = Buffer.from(this.bytes())
    copy.#length = this.#length
    return copy
  }

  bytes(): Buffer {
    return this.#space.subarray(0, this.#length)
  }

  #reserve(length: number): void {
    if (length <= this.#space.length) return
    const grown = Buffer.alloc(length * 2)
    this.#space.copy(grown, 0, 0, this.#length)
    this.#space = grown
  }
}
