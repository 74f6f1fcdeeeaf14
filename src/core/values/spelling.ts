/** Other ways to write a value: a supplied token that is one of them would show the value. */

/** Returns the text without what only notation adds: case, the script of digits, the Unicode form (also of compatibility characters), and white space at the ends. */
export function foldText(text: string): string {
  return lowerCodePoints(withAsciiDigits(text)).normalize('NFKC').trim()
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: The first ASCII characters are control characters.
const ASCII = /^[\x00-\x7f]*$/

/** Returns the text with each code point in lower case. */
export function lowerCodePoints(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  let lowered = ''
  for (const point of text) lowered += point.toLowerCase()
  return lowered
}

const DIGIT = /^\p{Nd}$/u

/** Returns the text in NFKC, with the decimal digits of every script as 0 to 9. */
export function withAsciiDigits(text: string): string {
  return ASCII.test(text) ? text : text.normalize('NFKC').replaceAll(/\p{Nd}/gu, asciiDigit)
}

/** The digits of a script are ten code points in a row, and rows that touch begin with a zero each. */
function asciiDigit(digit: string): string {
  const point = digit.codePointAt(0) ?? 0 // A match has a code point.
  let zero = point
  while (DIGIT.test(String.fromCodePoint(zero - 1))) zero--
  return String((point - zero) % 10)
}

/** A decimal number as people write it, after signs of groups were removed. */
const NUMBER = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,6}))?$/
/** Signs that separate groups of digits. */
const GROUPS = /[\s,_'\u2019]/g

/** Returns what all decimal spellings of a number share, such as 1, 01, 1.0, +1 and 1e0; undefined for other text. */
export function foldNumber(text: string): string | undefined {
  const found = NUMBER.exec(foldText(text).replace(GROUPS, ''))
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = found ?? []
  if (found === null || whole + fraction === '') return undefined
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const power = Number(exponent) - fraction.length + digits.length - significant.length
  return `${sign === '-' ? '-' : ''}${significant}e${power}`
}

/** Returns the groups of digits of a text. */
function digitGroups(text: string): string[] {
  return withAsciiDigits(text).match(/[0-9]+/g) ?? []
}

/** True if the text writes the day `YYYY-MM-DD` with its numbers in a usual order, with any separators or none, with or without leading zeros, and at most a time of zeros after it. */
export function isDaySpelling(day: string, text: string): boolean {
  const [year = '', month = '', date = ''] = day.split('-')
  const orders = [
    [year, month, date],
    [date, month, year],
    [month, date, year],
  ]
  const groups = digitGroups(text)
  while (groups.length > 3 && Number(groups.at(-1)) === 0) groups.pop()
  return orders.some((order) =>
    groups.length === 3
      ? order.every((part, i) => Number(part) === Number(groups[i]))
      : groups.length === 1 && (groups[0] === order.join('') || groups[0] === order.map(Number).join('')),
  )
}

/** True if two texts of times have the same digits, except zeros at either end: `06:30` is 06:30:00, and `20260131T060000` a date and time. */
export function isTimeSpelling(time: string, text: string): boolean {
  const [one, other] = [time, text].map((spelled) =>
    digitGroups(spelled)
      .map((group) => group.padStart(2, '0'))
      .join(''),
  )
  const strip = (digits = ''): string => digits.replace(/^0+|0+$/g, '')
  return other !== '' && strip(one) === strip(other)
}
