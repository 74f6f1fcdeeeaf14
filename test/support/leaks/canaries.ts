/** Unique secret values, and the search for them in any output and any encoding. */
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { SeededRandom } from '../random/seeded-random.ts'

/** A kind of canary: a column type, or a text in a form. */
export type CanaryForm = ColumnTypeName | 'CARD' | 'EMAIL'

/** All canaries made so far. */
export interface Canaries {
  /** A new value of this form; `id` names it in a finding. */
  make(form: CanaryForm): { readonly value: unknown; readonly id: number | undefined }
  /** The canaries that occur in the text, in any encoding. */
  findIn(text: string): Set<number>
}

/** A piece of a canary and how many of its characters count as found. Digits need more, because hexadecimal digests contain many. */
interface Core {
  readonly text: string
  readonly least: number
}

const LETTERS_LEAST = 8
const DIGITS_LEAST = 12
/** Characters by which encodings are looked up. */
const KEY = 8

interface Needle {
  readonly text: string
  readonly id: number
}

/** An empty set of canaries. */
export function createCanaries(random: SeededRandom): Canaries {
  const folded = new Map<string, Needle[]>()
  const exact = new Map<string, Needle[]>()
  let made = 0
  return {
    make(form) {
      const { value, cores } = canaryOf(form, random)
      if (cores.length === 0) return { value, id: undefined }
      const id = made++
      for (const core of cores) {
        for (const text of foldedForms(core)) note(folded, { text: text.toLowerCase(), id })
        for (const text of base64Forms(core)) note(exact, { text, id })
      }
      return { value, id }
    },
    findIn(text) {
      const found = new Set<number>()
      search(folded, text.toLowerCase(), found)
      search(exact, text, found)
      return found
    },
  }
}

/** A unique value of this form that is not searched for. */
export function freshValue(random: SeededRandom, form: CanaryForm): unknown {
  return canaryOf(form, random).value
}

function note(index: Map<string, Needle[]>, needle: Needle): void {
  const key = needle.text.slice(0, KEY)
  const known = index.get(key)
  if (known === undefined) index.set(key, [needle])
  else known.push(needle)
}

function search(index: ReadonlyMap<string, readonly Needle[]>, text: string, found: Set<number>): void {
  if (index.size === 0) return
  for (let at = 0; at + KEY <= text.length; at++) {
    for (const needle of index.get(text.slice(at, at + KEY)) ?? []) if (text.startsWith(needle.text, at)) found.add(needle.id)
  }
}

/**
 * What is sought without regard to case: the beginning of a core as it is, backwards from its end and from its beginning, in hexadecimal, and in UTF-16.
 * Cores are plain letters and digits with at most a point, a colon or a hyphen, so that escapes of JSON and URLs leave their letters as they are; one
 * more needle spells the colon as a URL does.
 */
function foldedForms({ text, least: min }: Core): Set<string> {
  const head = text.slice(0, min)
  const reversed = [...text].reverse().join('')
  const utf16 = Buffer.from(head, 'utf16le')
  return new Set([
    head,
    reversed.slice(0, min),
    [...head].reverse().join(''),
    encodeURIComponent(head),
    Buffer.from(head).toString('hex'),
    Buffer.from(reversed.slice(0, min)).toString('hex'),
    utf16.toString('latin1'),
    utf16.swap16().toString('latin1'),
    utf16.toString('hex'),
  ])
}

/** Base64 of a text inside a longer one depends on where it begins; each of the three offsets leaves a part in the middle that does not. */
function base64Forms({ text, least: min }: Core): Set<string> {
  const head = Buffer.from(text.slice(0, Math.max(min, 12)))
  const parts = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), head])
      .toString('base64')
      .replaceAll('=', '')
      .slice(shift === 0 ? 0 : 4, shift === 0 ? undefined : -2),
  )
  return new Set(parts.flatMap((part) => [part, part.replaceAll('+', '-').replaceAll('/', '_')]))
}

function canaryOf(form: CanaryForm, random: SeededRandom): { readonly value: unknown; readonly cores: readonly Core[] } {
  switch (form) {
    case 'STRING': {
      const [left, right] = [letters(random), letters(random)]
      // A quote, an accent and a space: no name could look like this, and every encoding has something to do.
      return { value: `${left} é"${right}`, cores: [spelt(left), spelt(right)] }
    }
    case 'EMAIL': {
      const local = letters(random)
      return { value: `${local}@acme.example`, cores: [spelt(local)] }
    }
    case 'CARD': {
      const value = withCheckDigit(`4${digits(random, 14)}`)
      return { value, cores: [counted(value)] }
    }
    case 'INTEGER': {
      const value = `${1 + random.below(8)}${digits(random, 17)}`
      return { value, cores: [counted(value)] }
    }
    case 'DECIMAL': {
      const value = `${1 + random.below(9)}${digits(random, 9)}.${digits(random, 8)}`
      // A plain cell has the digits without their point.
      return { value, cores: [counted(value), counted(value.replace('.', ''))] }
    }
    case 'FLOAT': {
      const value = Number(`${1 + random.below(9)}${digits(random, 6)}.${digits(random, 6)}${1 + random.below(9)}`)
      return { value, cores: [counted(String(value))] }
    }
    case 'BOOL':
      return { value: random.chance(0.5), cores: [] }
    case 'DATE': {
      const value = day(random)
      return { value, cores: [{ text: value, least: value.length }] }
    }
    case 'TIME': {
      const value = `${clock(random)}.${digits(random, 8)}${1 + random.below(9)}`
      return { value, cores: [counted(value)] }
    }
    case 'DATETIME': {
      const value = `${day(random)}T${clock(random)}.${digits(random, 8)}${1 + random.below(9)}Z`
      return { value, cores: [{ text: value.slice(0, -1), least: 20 }] }
    }
    case 'JSON': {
      const [name, inside] = [letters(random), letters(random)]
      // Errors repeat what looks like a name, so no member may.
      return { value: { [`${name} é`]: [inside, { deep: true }] }, cores: [spelt(name), spelt(inside)] }
    }
    case 'ARRAY': {
      const [first, second] = [letters(random), letters(random)]
      return { value: [first, 7, [second]], cores: [spelt(first), spelt(second)] }
    }
  }
}

function spelt(text: string): Core {
  return { text, least: LETTERS_LEAST }
}

function counted(text: string): Core {
  return { text, least: DIGITS_LEAST }
}

function letters(random: SeededRandom): string {
  return Array.from({ length: 14 }, () => String.fromCharCode(97 + random.below(26))).join('')
}

function digits(random: SeededRandom, count: number): string {
  return Array.from({ length: count }, () => String(random.below(10))).join('')
}

/** The digits with one more, so that they pass the Luhn check. */
function withCheckDigit(text: string): string {
  const doubled = [...text].reverse().map((digit, at) => (at % 2 === 0 ? 2 * Number(digit) : Number(digit)))
  const sum = doubled.reduce((total, each) => total + (each > 9 ? each - 9 : each), 0)
  return `${text}${(10 - (sum % 10)) % 10}`
}

function day(random: SeededRandom): string {
  const year = String(1000 + random.below(900))
  return `${year}-${twoDigits(1 + random.below(12))}-${twoDigits(1 + random.below(28))}`
}

function clock(random: SeededRandom): string {
  return `${twoDigits(random.below(24))}:${twoDigits(random.below(60))}:${twoDigits(random.below(60))}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
