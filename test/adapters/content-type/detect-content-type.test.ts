/** The type of a file comes from its content: plain samples, archives that mean more, polyglots and cut files. */
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contentTypeDetector } from '../../../src/adapters/content-type/detect-content-type.ts'
import { pngWith } from '../../support/archives/png-file.ts'
import { type ZipEntry, zipFile } from '../../support/archives/zip-file.ts'
import { randomFor } from '../../support/random/seeded-random.ts'

/** What core passes at most. */
const MAX_BEGINNING = 256 * 1024

const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
const PPTX = 'application/vnd.openxmlformats-officedocument.presentationml.presentation'

/** Returns the type as core asks for it: of the beginning, and whether that is all. */
function typeOf(content: string | Uint8Array, fileName = ''): Promise<string> {
  const bytes = Buffer.from(content)
  return contentTypeDetector.detect(bytes.subarray(0, MAX_BEGINNING), bytes.length <= MAX_BEGINNING, fileName)
}

function latin1(text: string): Uint8Array {
  return Buffer.from(text, 'latin1')
}

const GIF = latin1(
  'GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;',
)
const PDF = latin1('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%%EOF\n')

/** The one part that says what an Office Open XML file is. */
function contentTypes(main: string): ZipEntry {
  return {
    name: '[Content_Types].xml',
    content: `<?xml version="1.0"?><Types><Override PartName="/main.xml" ContentType="${main}.main+xml"/></Types>`,
  }
}

describe('plain samples', () => {
  it.each([
    ['PNG', pngWith('hello'), 'image/png'],
    ['GIF', GIF, 'image/gif'],
    ['JPEG', latin1('\xff\xd8\xff\xe0\x00\x10JFIF\x00'), 'image/jpeg'],
    ['WebP', latin1('RIFF\x1a\x00\x00\x00WEBPVP8L'), 'image/webp'],
    ['PDF', PDF, 'application/pdf'],
    ['PDF of plain text', '%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%%EOF\n', 'application/pdf'],
    ['PDF behind line breaks', '\r\n\n%PDF-1.4\n', 'application/pdf'],
    ['TIFF with its directory far away', latin1(`II*\x00\xff\xff\xff\x00${'\x01'.repeat(400)}`), 'image/tiff'],
    ['ZIP', zipFile([{ name: 'a.txt', content: 'hello' }]), 'application/zip'],
    ['an empty ZIP', zipFile([]), 'application/zip'],
    ['gzip', gzipSync('hello'), 'application/gzip'],
    ['Windows program', latin1(`MZ\x90\x00\x03${'\x00'.repeat(60)}`), 'application/x-msdownload'],
    ['Linux program', latin1(`\x7fELF\x02\x01\x01${'\x00'.repeat(60)}`), 'application/x-elf'],
    ['Ogg with a parameter in its type', latin1(`OggS${'\x00'.repeat(24)}OpusHead`), 'audio/ogg'],
    ['MPEG program stream, in lower case', latin1(`\x00\x00\x01\xba\x21${'\x00'.repeat(40)}`), 'video/mp1s'],
    ['RTF', '{\\rtf1 hello}', 'application/rtf'],
    ['vCard', 'BEGIN:VCARD\nFN:Ann\nEND:VCARD\n', 'text/vcard'],
    ['text', 'Hello, world.\n', 'text/plain'],
    ['text of other scripts', 'Größe: 日本語 👍\n', 'text/plain'],
    ['Markdown', '# Title\n\n- one\n- two\n', 'text/plain'],
    ['JSON', ' {"name": "Ann", "tags": ["a", 1.5e3, null, {}], "text": "\\u00e9 \\" \\\\"}\n', 'application/json'],
    ['a JSON string', '"hello"', 'text/plain'],
    ['HTML', '<!DOCTYPE html>\n<title>x</title>', 'text/html'],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml'],
    ['XML', '<?xml version="1.0"?>\n<note/>', 'application/xml'],
    ['CSV', 'name,age\r\n"Ann, A.",7\r\n"says ""hi""\n",8\r\n', 'text/csv'],
    ['CSV with semicolons and without a last line break', 'name;age\nAnn;7', 'text/csv'],
    ['a table with tabs', 'name\tage\nAnn\t7\n', 'text/tab-separated-values'],
  ])('%s', async (_, content, type) => {
    expect(await typeOf(content)).toBe(type)
  })

  it('an empty file is of unknown type', async () => {
    expect(await typeOf('')).toBe('application/octet-stream')
  })

  it('each single byte is text or of unknown type', async () => {
    const types = await Promise.all([...Array(256).keys()].map((byte) => typeOf(Uint8Array.of(byte))))
    expect(new Set(types)).toEqual(new Set(['text/plain', 'application/octet-stream']))
    expect(types[0]).toBe('application/octet-stream')
    expect(types[0x41]).toBe('text/plain')
    expect(types[0xe9]).toBe('application/octet-stream')
  })
})

describe('encodings of text', () => {
  const BOM = '\ufeff'
  const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

  it.each([
    ['UTF-8', (text: string) => Buffer.from(BOM + text)],
    ['UTF-16LE', (text: string) => Buffer.from(BOM + text, 'utf16le')],
    ['UTF-16BE', (text: string) => utf16be(BOM + text)],
  ])('%s with a byte order mark', async (_, encode) => {
    expect(await typeOf(encode('Größe 1'))).toBe('text/plain')
    expect(await typeOf(encode('<html>'))).toBe('text/html')
    expect(await typeOf(encode('text with <script>x</script>'))).toBe('text/html')
    expect(await typeOf(encode('<?xml version="1.0"?><svg/>'))).toBe('image/svg+xml')
    expect(await typeOf(encode('[1]'))).toBe('application/json')
    expect(await typeOf(encode('a,b\n1,2\n'))).toBe('text/csv')
    expect(await typeOf(encode('zero \0 inside'))).toBe('application/octet-stream')
  })

  it('bytes that are valid in no encoding are not text', async () => {
    expect(await typeOf(latin1('Gr\xf6\xdfe'))).toBe('application/octet-stream')
    expect(await typeOf(utf16be('no mark'))).toBe('application/octet-stream')
    expect(await typeOf(Buffer.from(`${BOM}odd`, 'utf16le').subarray(0, 7))).toBe('application/octet-stream')
    expect(await typeOf('a\x07b')).toBe('application/octet-stream')
  })

  it.each([
    ['Windows-1252', latin1('name;gr\xf6\xdfe\r\n\x80 5;\x93x\x94\r\n')],
    ['Shift-JIS', Buffer.from([0x96, 0xbc, 0x91, 0x4f, 0x2c, 0x94, 0x4e, 0x0a, 0x8d, 0x81, 0x2c, 0x37, 0x0a])],
  ])('%s is text by its name, and of unknown type without one', async (_, text) => {
    expect(await typeOf(text, 'a.csv')).toBe('text/csv')
    expect(await typeOf(text, 'A.B.TXT')).toBe('text/plain')
    expect(await typeOf(text, 'a.tsv')).toBe('text/tab-separated-values')
    for (const name of ['', 'a', 'a.html', 'a.exe', 'a.constructor', 'txt']) {
      expect(await typeOf(text, name), name).toBe('application/octet-stream')
    }
  })

  it('no name makes text of what a browser runs, of a known format, or of bytes that no text has', async () => {
    expect(await typeOf(latin1('\xf6\xdf <script>alert(1)</script>'), 'a.txt')).toBe('text/html')
    expect(await typeOf(GIF, 'a.txt')).toBe('image/gif')
    expect(await typeOf(latin1('\x00\xf6\xdf'), 'a.txt')).toBe('application/octet-stream')
    expect(await typeOf(latin1('\x81\xfd\xff\x8d'), 'a.csv')).toBe('application/octet-stream')
    expect(await typeOf('{"a": 1}', 'a.csv')).toBe('application/json')
  })

  it('a character that is cut at the end of the beginning is not an error, and at the end of the file is', async () => {
    const cut = Buffer.from('ab日').subarray(0, 4)
    expect(await contentTypeDetector.detect(cut, false, '')).toBe('text/plain')
    expect(await contentTypeDetector.detect(cut, true, '')).toBe('application/octet-stream')
  })
})

describe('what a browser may show as HTML or SVG is never called plain', () => {
  it.each([
    ['a tag in lower case after white space', '\n\t <script>alert(1)</script>', 'text/html'],
    ['a short tag', '<b>x', 'text/html'],
    ['a comment', '<!-- x -->hello', 'text/html'],
    ['a comment without an end', '<!-- x', 'text/html'],
    ['a comment that HTML and XML read in two ways', '<!--> <script>alert(1)</script> --><note/>', 'text/html'],
    ['a document type', '<!doctype\nHTML>', 'text/html'],
    ['XHTML', '<?xml version="1.0"?><!-- x --><html xmlns="http://www.w3.org/1999/xhtml"/>', 'text/html'],
    ['XHTML with a prefix', '<h:html xmlns:h="http://www.w3.org/1999/xhtml"/>', 'text/html'],
    ['HTML in the middle of text', `Dear Ann,\n${'x'.repeat(5000)}<ScRiPt src=x></ScRiPt>`, 'text/html'],
    ['an image with a handler in the middle of text', 'hello <img src=x onerror=alert(1)>', 'text/html'],
    ['a table with a script', 'name,text\nAnn,<script>alert(1)</script>\n', 'text/html'],
    ['a vCard with a script', 'BEGIN:VCARD\nFN:<script>alert(1)</script>\n', 'text/html'],
    ['nearly JSON', '{"a": <script>alert(1)</script>}', 'text/html'],
    ['an unknown element around a script', '<x><script>alert(1)</script></x>', 'text/html'],
    ['bytes that are no text behind a tag', latin1('<html>\xff\x00\x01'), 'text/html'],
    ['the mark of a tar archive', `<html>${' '.repeat(251)}ustar\0`, 'text/html'],
    [
      'SVG behind a declaration, a type and comments',
      '<?xml version="1.0"?><!-- a --><!DOCTYPE svg [<!ENTITY a ">">]><svg/>',
      'image/svg+xml',
    ],
    ['SVG behind another document type', '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a ">">]><svg/>', 'image/svg+xml'],
    ['SVG with a prefix', '<s:svg xmlns:s="http://www.w3.org/2000/svg"/>', 'image/svg+xml'],
    ['SVG in the middle of text', 'look: <svg onload=alert(1)>', 'text/html'],
  ])('%s', async (_, content, type) => {
    expect(await typeOf(content)).toBe(type)
  })

  it.each([
    ['JSON whose strings have HTML', '{"body": "<script>alert(1)</script>"}', 'application/json'],
    ['XML with HTML inside', '<?xml version="1.0"?><rss><item><![CDATA[<img src=x>]]></item></rss>', 'application/xml'],
    ['XML without a declaration', '<note><to>Ann</to></note>', 'application/xml'],
    ['a header file of C', '<stdio.h> is included', 'text/plain'],
    ['a comparison', 'if a <b or c> d', 'text/plain'],
  ])('not in doubt: %s', async (_, content, type) => {
    expect(await typeOf(content)).toBe(type)
  })
})

describe('polyglots', () => {
  it.each([
    ['GIF that is a script', Buffer.concat([latin1('GIF89a/*\x00\x00\x00'), Buffer.from('*/=1;alert(1)')]), 'image/gif'],
    ['script that begins like a GIF', 'GIF89a/*hello*/=1;alert(1)', 'text/plain'],
    ['HTML that begins like a sound', 'FORM<script>alert(1)</script>', 'text/html'],
    ['text that begins like a picture', 'BMW is a car', 'text/plain'],
    ['PDF with a ZIP behind', Buffer.concat([PDF, zipFile([{ name: 'a', content: 'x' }])]), 'application/pdf'],
    ['ZIP with a PDF inside', zipFile([{ name: 'a', content: PDF, stored: true }]), 'application/zip'],
    ['HTML in the comment of a PNG', pngWith('<script>alert(1)</script>'), 'image/png'],
    ['HTML in a comment of a PNG that is longer than the beginning', pngWith(`<script>${'x'.repeat(300_000)}`), 'image/png'],
    ['HTML behind a JPEG', latin1('\xff\xd8\xff\xe0\x00\x10JFIF\x00<script>alert(1)</script>'), 'image/jpeg'],
    [
      'ZIP behind a byte order mark',
      Buffer.concat([latin1('\xef\xbb\xbf'), zipFile([{ name: 'a', content: 'x' }])]),
      'application/zip',
    ],
  ])('%s', async (_, content, type) => {
    expect(await typeOf(content)).toBe(type)
  })
})

describe('archives that mean more', () => {
  const text: ZipEntry = { name: 'docProps/app.xml', content: '<Properties/>' }
  const manifest: ZipEntry = { name: 'META-INF/MANIFEST.MF', content: 'Manifest-Version: 1.0\n' }
  const incompressible = (name: string): ZipEntry => ({
    name,
    content: randomFor('archive').bytes(MAX_BEGINNING + 9),
    stored: true,
  })

  for (const streamed of [false, true]) {
    it.each([
      ['docx', [contentTypes(DOCX), text], DOCX],
      ['docx with the types last', [text, { name: 'word/document.xml', content: '<w/>' }, contentTypes(DOCX)], DOCX],
      [
        'docx with macros',
        [contentTypes('application/vnd.ms-word.document.macroEnabled'), text],
        'application/vnd.ms-word.document.macroenabled.12',
      ],
      ['xlsx', [contentTypes(XLSX), text], XLSX],
      ['pptx', [text, contentTypes(PPTX)], PPTX],
      [
        'odt',
        [{ name: 'mimetype', content: 'application/vnd.oasis.opendocument.text', stored: true }, text],
        'application/vnd.oasis.opendocument.text',
      ],
      ['epub', [{ name: 'mimetype', content: 'application/epub+zip', stored: true }, text], 'application/epub+zip'],
      ['jar', [{ name: 'META-INF/', content: '' }, manifest, { name: 'A.class', content: 'x' }], 'application/java-archive'],
      [
        'apk',
        [
          { name: 'AndroidManifest.xml', content: 'x' },
          { name: 'classes.dex', content: 'x' },
        ],
        'application/vnd.android.package-archive',
      ],
      [
        'apk that begins like a jar',
        [manifest, { name: 'AndroidManifest.xml', content: 'x' }],
        'application/vnd.android.package-archive',
      ],
      ['an archive with a wrong type', [{ name: 'mimetype', content: 'text/html', stored: true }], 'application/zip'],
      ['an archive with a folder that office files have', [{ name: 'word/a.txt', content: 'x' }], 'application/zip'],
    ] as const)(`%s${streamed ? ', written to a stream' : ''}`, async (_, entries, type) => {
      expect(await typeOf(zipFile(entries.map((entry) => ({ ...entry, streamed }))))).toBe(type)
    })
  }

  it('a docx whose types are beyond the beginning is recognized by its folder', async () => {
    const file = zipFile([{ name: 'word/document.xml', content: '<w/>' }, incompressible('word/media/1.png'), contentTypes(DOCX)])
    expect(await typeOf(file)).toBe(DOCX)
  })

  it('an archive whose first entry is longer than the beginning is a zip', async () => {
    expect(await typeOf(zipFile([incompressible('film.bin'), contentTypes(DOCX)]))).toBe('application/zip')
  })
})

describe('cut files', () => {
  it.each([
    ['PNG', pngWith('hello'), 'image/png', 12 + 8],
    ['GIF', GIF, 'image/gif', 7],
    ['PDF', PDF, 'application/pdf', 5],
    ['gzip', gzipSync('hello'), 'application/gzip', 3],
    ['zip', zipFile([{ name: 'a.txt', content: 'hello' }]), 'application/zip', 4],
  ])('%s keeps its type wherever it is cut', async (_, content, type, from) => {
    for (let length = from; length <= content.length; length++) {
      expect(await contentTypeDetector.detect(content.subarray(0, length), length === content.length, '')).toBe(type)
    }
  })

  it('JSON keeps its type wherever the beginning is cut', async () => {
    const json = Buffer.from('{"a": [1.5e+3, -2, true, false, null, "x\\u00e9\\"é"], "b": {"c": []}, "d": ""}')
    for (let length = 1; length < json.length; length++) {
      expect(await contentTypeDetector.detect(json.subarray(0, length), false, ''), `cut at ${length}`).toBe('application/json')
      expect(await contentTypeDetector.detect(json.subarray(0, length), true, ''), `ends at ${length}`).not.toBe(
        'application/json',
      )
    }
  })

  it('the last row of a table is ignored if the beginning is cut in it, and counts at the end of the file', async () => {
    const rows = Buffer.from('name,age\nAnn,7\n"Be')
    expect(await contentTypeDetector.detect(rows, false, '')).toBe('text/csv')
    expect(await contentTypeDetector.detect(rows, true, '')).toBe('text/plain')
    expect(await contentTypeDetector.detect(Buffer.from('name,age\nAnn,7\n"Be"x,1\n'), false, '')).toBe('text/plain')
    expect(await contentTypeDetector.detect(Buffer.from('name,age\nAnn'), false, '')).toBe('text/plain')
  })
})

describe('any content', () => {
  const heads = [
    '',
    'PK\x03\x04',
    '\x89PNG\r\n\x1a\n',
    'ID3',
    'II*\0',
    '\x1aE\xdf\xa3',
    'OggS',
    '0&\xb2u\x8ef\xcf\x11\xa6\xd9',
    '\x1f\x8b\x08',
    '<',
    '{',
    '"',
    '<?xml',
    '<!doctype',
    '\xff\xfe',
    'RIFF',
    '\0\0\0\x18ftyp',
    '!<arch>\n',
    '\x04\0\0\0',
  ]

  it('gives a type in lower case without parameters, and never throws', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...heads),
        fc.uint8Array({ maxLength: 700 }),
        fc.boolean(),
        async (head, rest, isWhole) => {
          const type = await contentTypeDetector.detect(Buffer.concat([latin1(head), rest]), isWhole, '')
          expect(type).toMatch(/^[a-z]+\/[a-z0-9][a-z0-9.+-]*$/)
        },
      ),
      { numRuns: 2000, seed: 20261122 },
    )
  })

  it('is HTML if a browser that guesses would take it for HTML, whatever follows', async () => {
    // WHATWG, MIME Sniffing, "identifying a resource with an unknown MIME type".
    const starts = '<!DOCTYPE HTML|<HTML|<HEAD|<SCRIPT|<IFRAME|<H1|<DIV|<FONT|<TABLE|<A|<STYLE|<TITLE|<B|<BODY|<BR|<P'.split('|')
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom('\t', '\n', '\f', '\r', ' '), maxLength: 5 }),
        fc.mixedCase(fc.constantFrom(...starts)),
        fc.constantFrom(' ', '>'),
        fc.uint8Array({ maxLength: 600 }),
        async (space, start, end, rest) => {
          expect(await typeOf(Buffer.concat([latin1(space + start + end), rest]))).toBe('text/html')
        },
      ),
      { numRuns: 1000, seed: 20261124 },
    )
  })

  it('is HTML or SVG if it begins with a comment, whatever follows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(' ', '>'), fc.uint8Array({ maxLength: 300 }), async (end, rest) => {
        expect(await typeOf(Buffer.concat([latin1(`<!--${end}`), rest]))).toMatch(/^(text\/html|image\/svg\+xml)$/)
      }),
      { numRuns: 500, seed: 20261125 },
    )
  })

  it('gives the same type to the same content, and does not change it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (content) => {
        const copy = Uint8Array.from(content)
        expect(await typeOf(content)).toBe(await typeOf(copy))
        expect(content).toEqual(copy)
      }),
      { numRuns: 500, seed: 20261123 },
    )
  })
})
