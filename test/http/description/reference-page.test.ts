/** The description over a real socket: the document, and the page that is made of it. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { createDocument } from '../../../src/http/description/openapi-document.ts'
import { html, referencePage } from '../../../src/http/description/reference-page.ts'
import { parseOptions } from '../../../src/http/options.ts'
import { createRoutes } from '../../../src/http/routes/routes.ts'
import type { Answer } from '../../support/http/ask.ts'
import { type ServedVault, serveVault } from '../../support/http/serve-vault.ts'

const options = parseOptions({ vaults: [], authenticate: [] })
const routes = createRoutes(options)

let served: ServedVault
let page: Answer
beforeAll(async () => {
  served = await serveVault({ storage: memoryStorage() })
  page = await served.ask('GET', '/reference', { credential: null })
})
afterAll(() => served.close())

describe('the document', () => {
  it('is served without a credential, with the URL of its server', async () => {
    const { status, headers, json } = await served.ask('GET', '/openapi.json', { credential: null })
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    const { servers, ...document } = json
    expect(servers).toEqual([{ url: '/' }])
    expect(document).toEqual(JSON.parse(JSON.stringify(createDocument(options, routes))))
  })

  it('names the path or the URL under which the handler is mounted', async () => {
    for (const baseUrl of ['/vault', 'https://acme.example/vault']) {
      const mounted = await serveVault({ storage: memoryStorage(), handler: { baseUrl } })
      try {
        const { json } = await mounted.ask('GET', '/vault/openapi.json', { credential: null })
        expect(json.servers).toEqual([{ url: baseUrl }])
      } finally {
        await mounted.close()
      }
    }
  })
})

describe('the page', () => {
  it('allows its own style, and nothing else', () => {
    expect(page.status).toBe(200)
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    const [, style = ''] = /<style>(.*?)<\/style>/s.exec(page.text) ?? []
    const digest = createHash('sha256').update(style).digest('base64')
    const policy = page.headers['content-security-policy']
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain(`style-src 'sha256-${digest}'`)
    expect(policy).not.toContain('unsafe')
  })

  it('has no script, no inline style and nothing from elsewhere', () => {
    expect(page.text).not.toMatch(/<script|<link|<img|<iframe|<form|<base|@import|url\(|\sstyle=|\son\w+=/i)
    expect([...page.text.matchAll(/\s(?:href|src)="([^"]*)"/g)].filter(([, target = '']) => !target.startsWith('#'))).toEqual([])
  })

  it('has every route, and the anchor of every link', () => {
    for (const { method, path } of routes) expect(page.text).toContain(`<span class="method">${method}</span> ${path}</code>`)
    const anchors = [...page.text.matchAll(/\sid="([^"]+)"/g)].map(([, anchor]) => anchor)
    expect(new Set(anchors).size).toBe(anchors.length)
    const links = [...page.text.matchAll(/href="#([^"]+)"/g)].map(([, anchor]) => anchor)
    expect(links.filter((anchor) => !anchors.includes(anchor))).toEqual([])
  })

  it('has every member of a query, every limit and every status', () => {
    for (const name of routes.flatMap(({ query = {} }) => Object.keys(query))) expect(page.text).toContain(`<code>${name}</code>`)
    const document = createDocument(options, routes)
    for (const { limit, value, unit } of document['x-limits'])
      expect(page.text).toContain(`<td>${limit}</td><td>${value} ${unit}</td>`)
    for (const name of Object.keys(document.components.responses)) expect(page.text).toContain(`<h3 id="${name}">`)
  })

  it('closes every element that it opens', () => {
    const open: string[] = []
    for (const [, end, name = ''] of page.text.matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>/g)) {
      if (name === 'meta') continue
      if (end === '/') expect(open.pop()).toBe(name)
      else open.push(name)
    }
    expect(open).toEqual([])
  })

  it('shows text of a description as text', () => {
    const [route] = routes
    if (route === undefined) throw new Error('No route.')
    const hostile = `</p><script>alert("1")</script>'&`
    const described = { ...route, summary: hostile, description: hostile, example: { response: hostile } }
    const made = referencePage(createDocument(options, [described]))
    expect(made).not.toContain('<script')
    expect(made).toContain('&lt;/p&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;')
  })
})

describe('html', () => {
  it('escapes text, and keeps HTML text as it is', () => {
    expect(html`<p title="${'"'}">${['<', html`<b>${1}</b>`, undefined]}</p>`.html).toBe('<p title="&quot;">&lt;<b>1</b></p>')
  })
})
