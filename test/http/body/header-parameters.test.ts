/** Parameters of headers: read as clients write them, and in one pass whatever a header holds. */
import { expect, it } from 'vitest'
import { parseParameters } from '../../../src/http/body/header-parameters.ts'

/** What the header says; undefined if it is malformed. */
function read(header: string): unknown {
  const parsed = parseParameters(header)
  return parsed && [parsed.value, Object.fromEntries(parsed.parameters)]
}

it.each([
  ['', ['', {}]],
  ['Text/HTML', ['text/html', {}]],
  ['a/b; Charset = "UTF-8" ;x=y z ; ', ['a/b', { charset: 'UTF-8', x: 'y z' }]],
  ['a;;b=1; ;c=', ['a', { b: '1', c: '' }]],
  ['a; b="x;y\\"z\\c" d; e=1', ['a', { b: 'x;y"z\\c', e: '1' }]],
  ['a; b=1; B=2', undefined],
  ['a; b', undefined],
  ['a; ="b"', undefined],
  ['a; b="c', undefined],
  ['a; b=c"d"', undefined],
])('%j is %j', (header, parsed) => {
  expect(read(header)).toEqual(parsed)
})

it.each([
  ['spaces before a quote', `a;${' '.repeat(400_000)}"`],
  ['spaces behind a name', `a;b${' '.repeat(400_000)}"`],
  ['spaces before a value that does not end', `a;b=${' '.repeat(400_000)}"`],
  ['spaces behind a value', `a;b=c${' '.repeat(400_000)}"`],
  ['a name without an end', `a;${'b'.repeat(400_000)}`],
  ['escapes without an end', `a;b="${'\\'.repeat(400_001)}`],
])('%s are refused without trying again from each character', (_, header) => {
  // With a second try from each character, the test would run into its limit of time.
  expect(read(header)).toBeUndefined()
})
