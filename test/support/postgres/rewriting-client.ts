/** Clients of `pg` that change the text of statements on their way, so that a real server answers as another engine would. */
import pg from 'pg'

/** The class of such clients, for the option `Client` of a pool. `rewrite` gets the text of each statement of the vault. */
export function rewritingClient(rewrite: (text: string) => string): typeof pg.Client {
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config)
      const query = this.query.bind(this)
      Object.assign(this, {
        query(asked: unknown, ...rest: readonly unknown[]) {
          const text = typeof asked === 'object' && asked !== null ? Reflect.get(asked, 'text') : undefined
          if (typeof text === 'string') Object.assign(Object(asked), { text: rewrite(text) })
          return Reflect.apply(query, undefined, [asked, ...rest])
        },
      })
    }
  }
}
