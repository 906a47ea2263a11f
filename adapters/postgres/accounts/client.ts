/** What is asked of a PostgreSQL client: a `Pool` of `pg` (https://node-postgres.com/apis/pool), made by the embedder. */
export interface PostgresClient {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
}
