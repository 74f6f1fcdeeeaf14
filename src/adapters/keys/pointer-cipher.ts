/** Row positions in disguise: FF1 (SP 800-38G) over 122 bits, laid out as a UUID of version 4, many at once in the module. */

import { createHash } from 'node:crypto'
import { type DecryptedPointers, POINTER_WORDS } from '../../core/ports/keys.ts'
import { at } from '../../core/util/at.ts'
import { type BlockCipher, createBlockCipher, expandKey } from './block-cipher.ts'
import { getWasm, MAX_BATCH_ITEMS, REGION, type WasmModule } from './wasm.ts'

const ROUNDS = 10
const TWEAK_BYTES = 7
const TEXT_LENGTH = 36
const WORD_BYTES = POINTER_WORDS * 4
/** Lists up to this long stay within the module; beyond it ten calls of the platform's AES for all items are the faster way. */
const MAX_FEW = 10
/** Stands in for a text that cannot be a UUID at all, so that items keep one width. It has no version and is refused. */
const NO_UUID = '0'.repeat(TEXT_LENGTH)
const NOT_ASCII = /[^\0-\x7f]/
/** The first block of the PRF's input for radix 2, length 122, halves of 61 and a tweak of 7: SP 800-38G, algorithm 7, step 5. */
const PARAMETERS = Buffer.from([1, 2, 1, 0, 0, 2, ROUNDS, 61, 0, 0, 0, 122, 0, 0, 0, TWEAK_BYTES])

/** Regions of the halves of the numeral string; words and text lie in `input`. */
const LEFT = REGION.output
const RIGHT = REGION.output + MAX_BATCH_ITEMS * 8

/** The permutation and its inverse. */
export interface PointerCipher {
  disguise(words: Uint32Array): string[]
  undisguise(texts: readonly string[]): DecryptedPointers
}

/** The tweak that binds pointers to one vault, under keys that are already its own. */
export function pointerTweak(vaultId: string): Uint8Array {
  return createHash('sha256').update(`strongroom/v1/pointer-tweak/${vaultId}`).digest().subarray(0, TWEAK_BYTES)
}

/** FF1 under a 32-byte key and a 7-byte tweak. */
export function createPointerCipher(key: Uint8Array, tweak: Uint8Array): PointerCipher {
  const cipher = createBlockCipher(key)
  // AES(P) with the tweak added: all of the PRF that does not change from item to item but for the round.
  const fixed = cipher.update(PARAMETERS)
  for (let i = 0; i < TWEAK_BYTES; i++) fixed[i] = at(fixed, i) ^ at(tweak, i)
  const keyed: Keyed = { cipher, fixed, schedule: expandKey(key) }
  return {
    disguise(words) {
      if (words.length <= MAX_FEW * POINTER_WORDS) return disguiseFew(keyed, words)
      const texts: string[] = []
      for (let from = 0; from < words.length; from += MAX_BATCH_ITEMS * POINTER_WORDS) {
        disguiseChunk(keyed, words.subarray(from, from + MAX_BATCH_ITEMS * POINTER_WORDS), texts)
      }
      return texts
    },
    undisguise(texts) {
      if (texts.length <= MAX_FEW) return undisguiseFew(keyed, texts)
      const words = new Uint32Array(texts.length * POINTER_WORDS)
      const wellFormed = new Uint8Array(texts.length)
      for (let from = 0; from < texts.length; from += MAX_BATCH_ITEMS) {
        const chunk = texts.length <= MAX_BATCH_ITEMS ? texts : texts.slice(from, from + MAX_BATCH_ITEMS)
        undisguiseChunk(keyed, chunk, words.subarray(from * POINTER_WORDS), wellFormed.subarray(from))
      }
      return { words, wellFormed }
    },
  }
}

/** What the key and the tweak give to every call. The schedule is the pointer key itself in another form. */
interface Keyed {
  readonly cipher: BlockCipher
  readonly fixed: Uint8Array
  readonly schedule: Uint8Array
}

/** All in one call of the module, AES too: ten calls of the platform's cipher cost as much as ten items here. */
function disguiseFew({ fixed, schedule }: Keyed, words: Uint32Array): string[] {
  const { calls, memory, words: input } = getWasm()
  const count = words.length / POINTER_WORDS
  for (let i = 0; i < words.length; i++) input[i] = words[i] ?? 0
  memory.set(fixed, REGION.fixed)
  memory.set(schedule, REGION.schedule)
  calls.disguiseFew(REGION.schedule, REGION.fixed, REGION.input, LEFT, RIGHT, REGION.blocks, REGION.input, count)
  const texts = readTexts(memory, count)
  calls.wipe(REGION.schedule, schedule.length)
  calls.wipe(REGION.input, count * TEXT_LENGTH)
  return texts
}

/** The way back, likewise. */
function undisguiseFew({ fixed, schedule }: Keyed, texts: readonly string[]): DecryptedPointers {
  const { calls, memory, words: input } = getWasm()
  const count = texts.length
  for (let item = 0; item < count; item++) writeText(memory, REGION.input + item * TEXT_LENGTH, at(texts, item))
  memory.set(fixed, REGION.fixed)
  memory.set(schedule, REGION.schedule)
  calls.undisguiseFew(REGION.schedule, REGION.fixed, REGION.input, LEFT, RIGHT, REGION.blocks, REGION.input, REGION.flags, count)
  const words = new Uint32Array(count * POINTER_WORDS)
  for (let i = 0; i < words.length; i++) words[i] = input[i] ?? 0
  const wellFormed = new Uint8Array(count)
  for (let item = 0; item < count; item++) wellFormed[item] = memory[REGION.flags + item] ?? 0
  calls.wipe(REGION.schedule, schedule.length)
  calls.wipe(REGION.input, count * TEXT_LENGTH)
  return { words, wellFormed }
}

/** Writes one text; what cannot be a UUID becomes zeros, which the module refuses. No letter beyond ASCII is folded into a digit. */
function writeText(memory: Uint8Array, at: number, text: string): void {
  let strange = hasLength(text) ? 0 : 0x80
  for (let i = 0; i < TEXT_LENGTH && strange < 0x80; i++) {
    const unit = text.charCodeAt(i)
    strange |= unit
    memory[at + i] = unit
  }
  if (strange >= 0x80) memory.fill(0, at, at + TEXT_LENGTH)
}

/** Runs the rounds over `count` items; forwards they begin with the right half, backwards with the left one. */
function runRounds(
  { cipher, fixed }: Keyed,
  { calls, memory }: WasmModule,
  count: number,
  direction: 'forwards' | 'backwards',
): void {
  const forwards = direction === 'forwards'
  const blocks = memory.subarray(REGION.blocks, REGION.blocks + count * 16)
  memory.set(fixed, REGION.fixed)
  calls.writeRound(REGION.fixed, forwards ? 0 : ROUNDS - 1, forwards ? RIGHT : LEFT, REGION.blocks, count)
  for (let step = 0; step < ROUNDS; step++) {
    memory.set(cipher.update(blocks), REGION.blocks)
    const even = step % 2 === 0
    if (forwards) calls.addRound(REGION.fixed, step + 1, even ? LEFT : RIGHT, REGION.blocks, count)
    else calls.subtractRound(REGION.fixed, ROUNDS - 2 - step, even ? RIGHT : LEFT, REGION.blocks, count)
  }
  calls.wipe(REGION.blocks, count * 16)
}

function disguiseChunk(keyed: Keyed, words: Uint32Array, texts: string[]): void {
  const module = getWasm()
  const { calls, memory } = module
  const count = words.length / POINTER_WORDS
  memory.set(new Uint8Array(words.buffer, words.byteOffset, words.byteLength), REGION.input)
  calls.splitWords(REGION.input, LEFT, RIGHT, count)
  runRounds(keyed, module, count, 'forwards')
  calls.renderUuids(LEFT, RIGHT, REGION.input, count)
  for (const text of readTexts(memory, count)) texts.push(text)
  calls.wipe(REGION.input, count * TEXT_LENGTH)
}

function undisguiseChunk(keyed: Keyed, texts: readonly string[], words: Uint32Array, wellFormed: Uint8Array): void {
  const module = getWasm()
  const { calls, memory } = module
  const count = texts.length
  writeTexts(memory, texts)
  calls.parseUuids(REGION.input, LEFT, RIGHT, REGION.flags, count)
  runRounds(keyed, module, count, 'backwards')
  calls.joinWords(REGION.input, LEFT, RIGHT, REGION.flags, count)
  const target = new Uint8Array(words.buffer, words.byteOffset, count * WORD_BYTES)
  target.set(memory.subarray(REGION.input, REGION.input + count * WORD_BYTES))
  wellFormed.set(memory.subarray(REGION.flags, REGION.flags + count))
  calls.wipe(REGION.input, count * TEXT_LENGTH)
}

/** One text, cut: a fifth of the cost of as many conversions. */
function readTexts(memory: Buffer, count: number): string[] {
  const all = memory.toString('latin1', REGION.input, REGION.input + count * TEXT_LENGTH)
  if (count === 1) return [all]
  const texts: string[] = []
  for (let at = 0; at < all.length; at += TEXT_LENGTH) texts.push(all.substring(at, at + TEXT_LENGTH))
  return texts
}

/** Writes 36 bytes for every text. Text beyond ASCII is seen by its length in UTF-8, never folded into a digit. */
function writeTexts(memory: Buffer, texts: readonly string[]): void {
  const length = texts.length * TEXT_LENGTH
  const sized = texts.every(hasLength) ? texts : texts.map((text) => (hasLength(text) ? text : NO_UUID))
  const all = sized.join('')
  if (Buffer.byteLength(all) === length) memory.write(all, REGION.input, length, 'latin1')
  else memory.write(sized.map((text) => (NOT_ASCII.test(text) ? NO_UUID : text)).join(''), REGION.input, length, 'latin1')
}

function hasLength(text: string): boolean {
  return text.length === TEXT_LENGTH
}
