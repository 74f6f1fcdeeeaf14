/** Token patterns: the texts of each item, and the errors with their positions. */
import { expect, it } from 'vitest'
import { patternFormat } from '../../../../src/core/tokens/formats/pattern-format.ts'
import { TokenFormatError } from '../../../../src/core/tokens/token-format.ts'

/** Returns the first and the last token, and their number, for a value that does not match the pattern. */
function ends(pattern: string): readonly [first: string, last: string, count: bigint] {
  const { domain, tokenAt } = patternFormat(pattern).rangeOf('no such text')
  return [tokenAt(0n), tokenAt(domain - 1n), domain]
}

it('uses characters as they are, one character of a class or \\d, and repeats the item before {n}', () => {
  expect(ends('AA-[0-9]{6}')).toEqual(['AA-000000', 'AA-999999', 10n ** 6n])
  expect(ends('\\d{3} \\d{4}')).toEqual(['000 0000', '999 9999', 10n ** 7n])
  expect(ends('x{3}[a-z]{5}')).toEqual(['xxxaaaaa', 'xxxzzzzz', 26n ** 5n])
  expect(ends('[A-Za-z0-9]{4}')).toEqual(['0000', 'zzzz', 62n ** 4n])
  expect(ends('[\\dA-F]{5}')).toEqual(['00000', 'FFFFF', 16n ** 5n])
})

it('counts each character of a class once, and takes a hyphen at an end and an escaped sign literally', () => {
  expect(ends('[aab-ca]{13}')).toEqual(['aaaaaaaaaaaaa', 'ccccccccccccc', 3n ** 13n])
  expect(ends('[01-]{13}')).toEqual(['-------------', '1111111111111', 3n ** 13n])
  expect(ends('[-01]{13}')).toEqual(['-------------', '1111111111111', 3n ** 13n])
  expect(ends('[\\]\\[\\\\]{13}')).toEqual(['[[[[[[[[[[[[[', ']]]]]]]]]]]]]', 3n ** 13n])
  expect(ends('\\[\\{\\.\\*\\d{6}')).toEqual(['[{.*000000', '[{.*999999', 10n ** 6n])
  expect(ends('[.*+?()|$]{7}')).toEqual(['$$$$$$$', '|||||||', 8n ** 7n])
})

it('rejects a pattern with fewer than a million texts and names their number', () => {
  expect(() => patternFormat('AA-[0-9]{5}')).toThrow(
    'has a token pattern with 100,000 possibilities; make it longer, so that there are at least 1,000,000',
  )
  expect(() => patternFormat('fixed')).toThrow('with 1 possibilities')
  expect(() => patternFormat('[0-9]{6}')).not.toThrow()
})

it.each([
  ['[0-9]*', 'backslash before other signs (at character 6)'],
  ['a|b', 'backslash before other signs (at character 2)'],
  ['(ab)', 'backslash before other signs (at character 1)'],
  ['a.b', 'backslash before other signs (at character 2)'],
  ['^ab', 'backslash before other signs (at character 1)'],
  ['ab]', 'backslash before other signs (at character 3)'],
  ['{6}', 'in braces, such as {6} (at character 1)'],
  ['a{0}', 'in braces, such as {6} (at character 2)'],
  ['a{2,3}', 'in braces, such as {6} (at character 2)'],
  ['a{2}{3}', 'in braces, such as {6} (at character 5)'],
  ['a{', 'in braces, such as {6} (at character 2)'],
  ['[^a]', 'negated classes are not supported (at character 1)'],
  ['[]', 'a class is empty (at character 1)'],
  ['[abc', 'a class is not closed (at character 1)'],
  ['[a-', 'a range must be of digits or of letters'],
  ['[z-a]', 'a range must be of digits or of letters of one case, in rising order (at character 2)'],
  ['[A-z]', 'a range must be of digits or of letters'],
  ['[0-Z]', 'a range must be of digits or of letters'],
  ['[\\d-9]', 'a range must be of digits or of letters'],
  ['\\w', 'of letters and digits, only \\d can follow a backslash (at character 1)'],
  ['\\', 'only \\d can follow a backslash'],
  ['[\\', 'only \\d can follow a backslash'],
  ['é[0-9]{6}', 'printable ASCII'],
  ['[0-9]{6}\n', 'printable ASCII'],
  ['a{257}', 'at most 256 characters'],
  ['[0-9]{200}b{57}', 'at most 256 characters'],
  ['a{999}', 'at most 256 characters'],
])('rejects the pattern %j: %s', (pattern, clause) => {
  let thrown: unknown
  try {
    patternFormat(pattern)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(TokenFormatError)
  expect(String(thrown)).toContain(clause)
  expect(String(thrown)).toContain('has an invalid token pattern: ')
})

it('makes random tokens for any value, and deterministic ones only for values that match the pattern', () => {
  const { rangeOf, deterministic } = patternFormat('K\\d{6}')
  expect(rangeOf('anything at all').domain).toBe(10n ** 6n)
  expect(rangeOf('K000000').domain).toBe(10n ** 6n - 1n)
  expect(rangeOf('K000000').tokenAt(0n)).toBe('K000001')
  expect(deterministic?.rankOf('K000123').value).toBe(123n)
  expect(() => deterministic?.rankOf('k000123')).toThrow('must match the token pattern to have a token')
  expect(deterministic?.rankOfToken('K00012')).toBeUndefined()
})
