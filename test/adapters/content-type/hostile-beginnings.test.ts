/** Beginnings that make a parser slow, inflate much or wait for more: each gets a type, and little is inflated. */
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { contentTypeDetector } from '../../../src/adapters/content-type/detect-content-type.ts'
import { countInflated } from '../../support/archives/count-inflated.ts'
import { pngWith } from '../../support/archives/png-file.ts'
import { zipFile } from '../../support/archives/zip-file.ts'

/** What core passes at most. */
const MAX_BEGINNING = 256 * 1024

function typeOf(bytes: Uint8Array): Promise<string> {
  return contentTypeDetector.detect(bytes.subarray(0, MAX_BEGINNING), bytes.length <= MAX_BEGINNING, '')
}

function latin1(text: string): Uint8Array {
  return Buffer.from(text, 'latin1')
}

const filled = (head: Uint8Array | string, unit: Uint8Array | string) => {
  const start = Buffer.from(head)
  return Buffer.concat([start, Buffer.alloc(MAX_BEGINNING - start.length, unit)])
}
const bomb = Buffer.alloc(64 * 1024 * 1024)

it.each([
  ['a gzip bomb', gzipSync(bomb), 'application/gzip'],
  ['a docx whose types are a bomb', zipFile([{ name: '[Content_Types].xml', content: bomb }]), 'application/zip'],
  [
    'one that claims to be short',
    zipFile([{ name: '[Content_Types].xml', content: bomb, claimedLength: 99 }]),
    'application/zip',
  ],
  ['one of unknown length', zipFile([{ name: 'mimetype', content: bomb, streamed: true }]), 'application/zip'],
  [
    'many of them',
    zipFile(Array(99).fill({ name: 'mimetype', content: bomb.subarray(0, 2 ** 20), streamed: true })),
    'application/zip',
  ],
])('%s is not inflated beyond 2 MiB', async (_, content, type) => {
  const inflated = await countInflated(async () => expect(await typeOf(content)).toBe(type))
  expect(inflated).toBeLessThanOrEqual(2 * 1024 * 1024)
})

it('the count of inflated bytes sees what is inflated', async () => {
  const content = zipFile([{ name: 'mimetype', content: 'application/epub+zip' }])
  expect(await countInflated(async () => expect(await typeOf(content)).toBe('application/epub+zip'))).toBe(20)
})

it.each([
  ['tags of ID3 in each other', filled('', latin1('ID3\x03\x00\x00\x00\x00\x00\x00')), 'application/octet-stream'],
  ['a tag of ID3 that is longer than the file', latin1('ID3\x03\x00\x00\x7f\x7f\x7f\x7f'), 'audio/mpeg'],
  ['many empty chunks of PNG', filled(pngWith('').subarray(0, 33), latin1('\0\0\0\0tEXt\0\0\0\0')), 'image/png'],
  ['many entries of zip', filled('', latin1(`PK\x03\x04${'\0'.repeat(22)}\x01\0\0\0a`)), 'application/zip'],
  ['an entry of unknown length', filled(latin1(`PK\x03\x04\x14\0\x08${'\0'.repeat(23)}`), 'PK'), 'application/zip'],
  ['many byte order marks', filled('', '\ufeff'), 'text/plain'],
  ['many document types', filled('', '<!doctype x>'), 'text/plain'],
  ['many comments', filled('', '<!---->'), 'text/html'],
  ['many instructions', filled('', '<?x?>'), 'text/plain'],
  ['a long name', filled('<', 'a'), 'text/plain'],
  ['many tags without an end', filled('<x ', '<a:'), 'text/plain'],
  ['nested lists', filled('', '['), 'application/json'],
  ['nested objects', filled('', '{"a":'), 'application/json'],
  ['a string without an end', filled('["', 'a'), 'application/json'],
  ['a number without an end', filled('[', '1'), 'application/json'],
  ['a row without an end', filled('', 'a,'), 'text/plain'],
  ['quotes', filled('a,b\n', '"'), 'text/plain'],
])('%s', async (_, content, type) => {
  expect(await contentTypeDetector.detect(content, false, '')).toBe(type)
  expect(typeof (await contentTypeDetector.detect(content, true, ''))).toBe('string')
})
