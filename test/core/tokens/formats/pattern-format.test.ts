/** The language of generating patterns: what each item makes, and what is refused with a clause that says where. */
import { expect, test } from 'vitest'
import { patternFormat } from '../../../../src/core/tokens/formats/pattern-format.ts'
import { TokenFault } from '../../../../src/core/tokens/token-format.ts'

/** The first and the last token of a value the pattern does not make. */
function ends(pattern: string): readonly [first: string, last: string, count: bigint] {
  const { domain, tokenAt } = patternFormat(pattern).shapeOf('no such text')
  return [tokenAt(0n), tokenAt(domain - 1n), domain]
}

test('characters stand for themselves, classes and \\d are drawn from, and {n} repeats the item before it', () => {
  expect(ends('AA-[0-9]{6}')).toEqual(['AA-000000', 'AA-999999', 10n ** 6n])
  expect(ends('\\d{3} \\d{4}')).toEqual(['000 0000', '999 9999', 10n ** 7n])
  expect(ends('x{3}[a-z]{5}')).toEqual(['xxxaaaaa', 'xxxzzzzz', 26n ** 5n])
  expect(ends('[A-Za-z0-9]{4}')).toEqual(['0000', 'zzzz', 62n ** 4n])
  expect(ends('[\\dA-F]{5}')).toEqual(['00000', 'FFFFF', 16n ** 5n])
})

test('a class holds each of its characters once, a hyphen at its end is itself, and a backslash takes a sign at its word', () => {
  expect(ends('[aab-ca]{13}')).toEqual(['aaaaaaaaaaaaa', 'ccccccccccccc', 3n ** 13n])
  expect(ends('[01-]{13}')).toEqual(['-------------', '1111111111111', 3n ** 13n])
  expect(ends('[-01]{13}')).toEqual(['-------------', '1111111111111', 3n ** 13n])
  expect(ends('[\\]\\[\\\\]{13}')).toEqual(['[[[[[[[[[[[[[', ']]]]]]]]]]]]]', 3n ** 13n])
  expect(ends('\\[\\{\\.\\*\\d{6}')).toEqual(['[{.*000000', '[{.*999999', 10n ** 6n])
  expect(ends('[.*+?()|$]{7}')).toEqual(['$$$$$$$', '|||||||', 8n ** 7n])
})

test('a pattern with fewer than a million texts is refused naming how many it makes', () => {
  expect(() => patternFormat('AA-[0-9]{5}')).toThrow(
    'has a token pattern with 100,000 possibilities; make it longer, so that there are at least 1,000,000',
  )
  expect(() => patternFormat('fixed')).toThrow('with 1 possibilities')
  expect(() => patternFormat('[0-9]{6}')).not.toThrow()
})

test.each([
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
  ['[^a]', 'no class of all characters but some (at character 1)'],
  ['[]', 'empty class (at character 1)'],
  ['[abc', 'class that does not end (at character 1)'],
  ['[a-', 'a range that is not'],
  ['[z-a]', 'a range that is not of digits or of letters of one case, rising (at character 2)'],
  ['[A-z]', 'a range that is not'],
  ['[0-Z]', 'a range that is not'],
  ['[\\d-9]', 'a range that is not'],
  ['\\w', 'knows \\d alone of all letters behind a backslash (at character 1)'],
  ['\\', 'knows \\d alone'],
  ['[\\', 'knows \\d alone'],
  ['é[0-9]{6}', 'printable ASCII'],
  ['[0-9]{6}\n', 'printable ASCII'],
  ['a{257}', 'at most 256 characters'],
  ['[0-9]{200}b{57}', 'at most 256 characters'],
  ['a{999}', 'at most 256 characters'],
])('%j is refused: it %s', (pattern, clause) => {
  let thrown: unknown
  try {
    patternFormat(pattern)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(TokenFault)
  expect(String(thrown)).toContain(clause)
  expect(String(thrown)).toContain('has a token pattern that is none: it ')
})

test('random tokens are drawn whatever the value looks like, deterministic ones only for values of the pattern', () => {
  const { shapeOf, deterministic } = patternFormat('K\\d{6}')
  expect(shapeOf('anything at all').domain).toBe(10n ** 6n)
  expect(shapeOf('K000000').domain).toBe(10n ** 6n - 1n)
  expect(shapeOf('K000000').tokenAt(0n)).toBe('K000001')
  expect(deterministic?.rankOf('K000123').value).toBe(123n)
  expect(() => deterministic?.rankOf('k000123')).toThrow('must be written as the pattern of its tokens says')
  expect(deterministic?.rankOfToken('K00012')).toBeUndefined()
})
