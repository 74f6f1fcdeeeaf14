/** The reference page for people: one HTML text, made of the same document that programs get. */
import type { JsonSchema } from './json-schema.ts'
import type { OpenApiContent, OpenApiDocument, OpenApiOperation, OpenApiResponse } from './openapi.ts'
import { REFERENCE_STYLE } from './reference-style.ts'
import { boundsOf, membersOf, resolved, type SchemaMember, typeOf } from './schema-members.ts'

/** The page of a document. */
export function referencePage(document: OpenApiDocument): string {
  const sections = document.tags.map((tag) => ({ ...tag, entries: entriesOf(document, tag.name) }))
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}</title>
<style>${{ html: REFERENCE_STYLE }}</style>
</head>
<body>
<div class="page">
<nav aria-label="Routes">
${sections.map(({ name, entries }) => navigation(name, entries))}
<p><a href="#errors">Errors</a></p>
<p><a href="#limits">Limits</a></p>
</nav>
<main>
<h1>${document.info.title}</h1>
${introduction(document)}
${sections.map(
  ({ name, description, entries }) => html`<h2 id="${anchorOf(name)}">${name}</h2>
<p>${description}</p>
${entries.map((entry) => article(entry, document))}`,
)}
${errors(document)}
${limits(document)}
</main>
</div>
</body>
</html>
`
  return page.html
}

/** Operations that differ in their paths only. */
interface Entry {
  readonly operation: OpenApiOperation
  readonly routes: readonly { readonly method: string; readonly path: string; readonly id: string }[]
}

/** Returns the operations of a group. Those that differ in their paths only are one entry. */
function entriesOf({ paths }: OpenApiDocument, tag: string): Entry[] {
  const entries = new Map<string, { operation: OpenApiOperation; routes: { method: string; path: string; id: string }[] }>()
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (!operation.tags.includes(tag)) continue
      const { operationId: id, ...rest } = operation
      const key = JSON.stringify([method, rest])
      const entry = entries.get(key) ?? { operation, routes: [] }
      entry.routes.push({ method: method.toUpperCase(), path, id })
      entries.set(key, entry)
    }
  }
  return [...entries.values()]
}

function anchorOf(name: string): string {
  return `group-${name.toLowerCase().replaceAll(' ', '-')}`
}

function navigation(name: string, entries: readonly Entry[]): Html {
  return html`<p><a href="#${anchorOf(name)}"><strong>${name}</strong></a></p>
<ul>
${entries.map(({ operation, routes: [first] }) => html`<li><a href="#${first?.id}">${operation.summary}</a></li>\n`)}</ul>
`
}

function introduction({ info }: OpenApiDocument): Html[] {
  const [texts = ''] = info.description.split('\n\n|')
  return [info.summary, ...texts.split('\n\n')].map((text) => html`<p>${text}</p>\n`)
}

function article({ operation, routes }: Entry, document: OpenApiDocument): Html {
  const { summary, description, deprecated, security, requestBody, responses } = operation
  const isOwn = operation['x-own'] === true
  return html`<article>
<h3 id="${routes[0]?.id}">${summary}</h3>
<ul class="paths">
${routes.map(({ method, path, id }) => html`<li id="${`route-${id}`}"><code><span class="method">${method}</span> ${path}</code></li>\n`)}</ul>
<p>${deprecated === true ? html`<span class="note">deprecated</span> ` : undefined}${
    isOwn ? html`<span class="note">not in the specification</span> ` : undefined
  }${security.length === 0 ? html`<span class="note">no credential</span>` : undefined}</p>
${description === undefined ? undefined : html`<p>${description}</p>`}
${parameters('path', operation, document)}
${parameters('query', operation, document)}
${requestBody === undefined ? undefined : content('Request body', requestBody, document)}
${Object.entries(responses).map(([status, response]) => success(status, response, document))}
<h4>Errors</h4>
<p>${Object.entries(responses).map(([status, response]) =>
    '$ref' in response ? html`<a href="#${nameIn(response.$ref)}">${status}</a> ` : undefined,
  )}</p>
</article>
`
}

function parameters(place: 'path' | 'query', operation: OpenApiOperation, { components }: OpenApiDocument): Html | undefined {
  const rows = operation.parameters
    .filter((parameter) => parameter.in === place)
    .map(({ name, required, description, schema: given }): SchemaMember => {
      const schema = resolved(given, components.schemas)
      const bounds = boundsOf(schema)
      return { path: name, type: typeOf(schema, components.schemas), isRequired: required, description, bounds }
    })
  return rows.length === 0 ? undefined : html`<h4>${place === 'path' ? 'Path' : 'Query'}</h4>${memberTable(rows)}`
}

function memberTable(rows: readonly SchemaMember[]): Html {
  return html`<table>
<thead><tr><th>member</th><th>type</th><th>meaning</th></tr></thead>
<tbody>
${rows.map(
  ({ path, type, isRequired, bounds, description }) =>
    html`<tr><td><code>${path}</code></td><td>${type}${
      isRequired ? html`, <strong>required</strong>` : undefined
    }${bounds.map((bound) => html`, <span class="dim">${bound}</span>`)}</td><td>${description}</td></tr>\n`,
)}</tbody>
</table>
`
}

function success(
  status: string,
  response: OpenApiResponse | { readonly $ref: string },
  document: OpenApiDocument,
): Html | undefined {
  if ('$ref' in response) return undefined
  return content(`Response ${status}`, { description: response.description, content: response.content ?? {} }, document)
}

function content(
  title: string,
  { description, content: types }: { readonly description?: string; readonly content: OpenApiContent },
  { components }: OpenApiDocument,
): Html {
  return html`<h4>${title}</h4>
${description === undefined ? undefined : html`<p>${description}</p>`}
${Object.entries(types).map(([type, { schema, example }]) => {
  const rows = schema === undefined ? [] : membersOf(schema, components.schemas)
  return html`<p><code>${type}</code>${schema === undefined ? undefined : html`: ${bodyType(schema, components.schemas)}`}</p>
${rows.length === 0 ? undefined : memberTable(rows)}
${example === undefined ? undefined : shown(example)}`
})}`
}

function bodyType(schema: JsonSchema, shared: Readonly<Record<string, JsonSchema>>): string {
  return typeOf(resolved(schema, shared), shared)
}

function shown(example: unknown): Html {
  return html`<pre>${typeof example === 'string' ? example : JSON.stringify(example, null, 2)}</pre>`
}

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

function errors(document: OpenApiDocument): Html {
  const { responses, schemas } = document.components
  const envelope = schemas.ErrorEnvelope ?? {}
  return html`<h2 id="errors">Errors</h2>
${memberTable(membersOf(envelope, schemas))}
${Object.entries(responses).map(
  ([name, { description, content: types = {} }]) => html`<h3 id="${name}">${name}</h3>
<p>${description}</p>
${Object.values(types).map(({ example }) => (example === undefined ? undefined : shown(example)))}`,
)}`
}

function limits(document: OpenApiDocument): Html {
  return html`<h2 id="limits">Limits</h2>
<table>
<thead><tr><th>limit</th><th>value</th><th>applies to</th></tr></thead>
<tbody>
${document['x-limits'].map(
  ({ limit, value, unit, appliesTo }) => html`<tr><td>${limit}</td><td>${value} ${unit}</td><td>${appliesTo}</td></tr>\n`,
)}</tbody>
</table>
`
}

/** HTML text. */
export interface Html {
  readonly html: string
}

/** What can be put into HTML text: text is escaped, and undefined is nothing. */
type Part = Html | string | number | undefined | readonly Part[]

/** Returns HTML text: `` html`<p>${text}</p>` ``. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: texts.map((text, index) => (index === 0 ? text : htmlOf(parts[index - 1]) + text)).join('') }
}

function htmlOf(part: Part): string {
  if (part === undefined) return ''
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part))
  return 'html' in part ? part.html : part.map(htmlOf).join('')
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Returns text that is no markup, in an element as in a quoted attribute. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
