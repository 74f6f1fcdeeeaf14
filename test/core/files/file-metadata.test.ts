/** Names of files: what is left of hostile ones. */
import { expect, it } from 'vitest'
import { toFileName } from '../../../src/core/files/file-metadata.ts'

it.each([
  ['../../etc/passwd', 'passwd'],
  ['C:\\windows\\a.txt', 'a.txt'],
  ['a/..', 'file'],
  ['', 'file'],
  [' . . ', 'file'],
  ['a\0b\r\nc', 'abc'],
  ['a\u202egpj.exe', 'agpj.exe'],
  ['\u3164\u115f\u1160\u2800\uffa0', 'file'],
  ['a\u{e0100}\ufe0f\u034f.txt', 'a.txt'],
  ['\ud83d', 'file'],
  ['5" disk.txt', '5" disk.txt'],
  ['a: b*c?d|e<f>.txt', 'a: b*c?d|e<f>.txt'],
  ['dir\\', 'dir'],
  ['a/b//', 'b'],
  ['//', 'file'],
  ['e\u200d\u0301', '\u00e9'],
])('%j becomes %j', (given, name) => {
  expect(toFileName(given)).toBe(name)
})

it('are not only dots or spaces after they are cut, and are cut between characters', () => {
  expect(toFileName(`${'.'.repeat(300)}${'x'.repeat(20)}`)).toBe('file')
  expect(toFileName(`${'x'.repeat(254)} y`)).toBe('x'.repeat(254))
  expect(toFileName(`${'😀'.repeat(200)}.png`)).toBe(`${'😀'.repeat(125)}.png`)
})

it('of each character are a visible part of one path, well-formed, and stay as they are', () => {
  for (let code = 0; code < 0x11_0000; code++) {
    const name = toFileName(`${String.fromCodePoint(code)}\u200d\u0301`)
    if (!/^[^/\\\p{Cc}\p{Default_Ignorable_Code_Point}]+$/u.test(name) || toFileName(name) !== name)
      expect.fail(`U+${code.toString(16)} became a name that is not clean`)
  }
})
