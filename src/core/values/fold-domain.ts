/** The one spelling of a domain, in Unicode or in Punycode (RFC 5890, RFC 3492). It is deterministic on purpose: digests depend on it, and what runtimes map domains to changes with their versions of Unicode. */
import { isLabel } from '../util/text.ts'
import { lowerCodePoints } from './spelling.ts'

/** Returns the domain of an address in Unicode and lower case: the same for every spelling, also in Punycode. */
export function foldDomain(domain: string): string {
  return domain.split('.').map(foldLabel).join('.')
}

function foldLabel(label: string): string {
  const folded = foldUnicode(label)
  if (!folded.startsWith(PREFIX) || !ASCII.test(folded)) return folded
  const decoded = decodePunycode(folded.slice(PREFIX.length))
  // A label that no Unicode label is written as keeps its own form, so that two domains are never one.
  const isWrittenSo = decoded !== undefined && !ASCII.test(decoded) && isLabel(decoded) && foldUnicode(decoded) === decoded
  return isWrittenSo ? decoded : folded
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: The first ASCII characters are control characters.
const ASCII = /^[\x00-\x7f]*$/

function foldUnicode(label: string): string {
  return lowerCodePoints(label.normalize('NFKC')).normalize('NFC')
}

/** What a label in Punycode begins with. Source: RFC 5890, section 2.3.2.1. */
const PREFIX = 'xn--'

/** Parameters of Punycode. Source: RFC 3492, section 5. */
const BASE = 36
const MIN_THRESHOLD = 1
const MAX_THRESHOLD = 26
const SKEW = 38
const DAMP = 700
const INITIAL_BIAS = 72
const INITIAL_POINT = 0x80

/** Returns the text that ASCII in lower case stands for as Punycode; undefined if it stands for none. Source: RFC 3492, section 6.2. */
function decodePunycode(text: string): string | undefined {
  // A hyphen with nothing before it ends no basic letters: it is no digit either.
  const basic = Math.max(text.lastIndexOf('-'), 0)
  const points = Array.from(text.slice(0, basic), (character) => character.charCodeAt(0))
  let point = INITIAL_POINT
  let index = 0
  let bias = INITIAL_BIAS
  for (let at = basic === 0 ? 0 : basic + 1; at < text.length; ) {
    const start = index
    let weight = 1
    for (let k = BASE; ; k += BASE) {
      const digit = digitOf(text.charCodeAt(at++))
      if (digit < 0) return undefined
      index += digit * weight
      const threshold = Math.min(Math.max(k - bias, MIN_THRESHOLD), MAX_THRESHOLD)
      if (digit < threshold) break
      weight *= BASE - threshold
    }
    const count = points.length + 1
    bias = adapt(index - start, count, start === 0)
    point += Math.floor(index / count)
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return undefined
    index %= count
    points.splice(index++, 0, point)
  }
  return points.map((point) => String.fromCodePoint(point)).join('')
}

/** Returns the value of a digit, a to z and 0 to 9; a negative number for another unit, also for none. */
function digitOf(unit: number): number {
  if (unit >= 0x61 && unit <= 0x7a) return unit - 0x61
  return unit >= 0x30 && unit <= 0x39 ? unit - 0x30 + 26 : -1
}

function adapt(step: number, count: number, isFirst: boolean): number {
  let delta = Math.floor(step / (isFirst ? DAMP : 2))
  delta += Math.floor(delta / count)
  let bias = 0
  for (; delta > ((BASE - MIN_THRESHOLD) * MAX_THRESHOLD) / 2; bias += BASE) delta = Math.floor(delta / (BASE - MIN_THRESHOLD))
  return bias + Math.floor((BASE * delta) / (delta + SKEW))
}
