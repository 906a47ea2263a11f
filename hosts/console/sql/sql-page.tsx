export const SqlPage = () => <h1>SQL</h1>;
