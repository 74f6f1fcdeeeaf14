/** The headers of a download, whatever its name. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { downloadHeaders } from '../../../src/http/routes/ticket-routes.ts'

const headersOf = (fileName: string) =>
  downloadHeaders({ metadata: { fileName, fileSizeKB: 1, fileType: 'text/html' }, size: 10, range: { start: 2, end: 5 } }, true)

it('make every content an attachment in a sandbox', () => {
  expect(headersOf('Ann’s "page".html')).toEqual({
    'content-type': 'text/html',
    'content-length': '3',
    'content-disposition': `attachment; filename="Ann_s _page_.html"; filename*=UTF-8''Ann%E2%80%99s%20%22page%22.html`,
    'accept-ranges': 'bytes',
    'cache-control': 'no-store, no-transform',
    'content-range': 'bytes 2-4/10',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  })
})

it('have one well-formed disposition for any text, and give back its visible characters', () => {
  const form = /^attachment; filename="([ !#-$&-[\]-~]*)"; filename\*=UTF-8''((?:[A-Za-z0-9!#$&+.^_`|~-]|%[0-9A-F]{2})*)$/
  const names = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('\r\nSet-Cookie: a=b', '\u202Egpj.exe', '\ud800'),
  )
  fc.assert(
    fc.property(names, (name) => {
      const [, , encoded = ''] = form.exec(headersOf(name)['content-disposition'] ?? '') ?? []
      expect(decodeURIComponent(encoded)).toBe(name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '_'))
    }),
  )
})
